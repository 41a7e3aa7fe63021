package fleet

import "syscall"

// endWithParent: no process of a demo outlives one that was killed itself.
func endWithParent(attributes *syscall.SysProcAttr) { attributes.Pdeathsig = syscall.SIGKILL }
