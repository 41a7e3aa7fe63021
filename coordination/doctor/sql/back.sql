-- purpose: forget the attempts of one identity. locks: none. called by: package doctor
rollback to savepoint doctor; release savepoint doctor
