package runtimeapi

import "syscall"

// tied are the attributes of a process that ends with its parent, and that a
// terminal's interrupt does not reach before its parent has decided.
func tied() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}
