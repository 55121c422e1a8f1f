package runtimeapi

import "syscall"

// freeze stops the process of an environment that waits, where that is wanted.
// The caller holds mu.
func (e *environment) freeze() {
	if e.runtime.Freeze && e.asking >= e.runtime.Concurrency && e.process != nil {
		_ = e.process.Signal(syscall.SIGSTOP) // it may have ended already
	}
}

// thaw lets a stopped process go on. The caller holds mu.
func (e *environment) thaw() {
	if e.runtime.Freeze && e.process != nil {
		_ = e.process.Signal(syscall.SIGCONT)
	}
}
