package localpg

import "syscall"

// endWithParent asks the kernel to stop the server at once (SIGQUIT: immediate
// shutdown, which also frees its shared memory) when the thread that started it is gone.
func endWithParent(attributes *syscall.SysProcAttr) {
	attributes.Pdeathsig = syscall.SIGQUIT
}
