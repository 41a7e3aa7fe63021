-- purpose: the point to which every attempt goes back. locks: none. called by: package doctor
savepoint doctor
