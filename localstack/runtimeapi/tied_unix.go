//go:build unix && !linux

package runtimeapi

import "syscall"

// tied are the attributes of a process that a terminal's interrupt does not
// reach before its parent has decided. It ends with its parent, since its
// Runtime API does.
func tied() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
