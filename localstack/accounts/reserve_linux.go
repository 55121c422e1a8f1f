package accounts

import (
	"net"
	"os"
	"syscall"
)

// reserve keeps an address from everybody else until it is closed: nobody who
// listens or dials gets its port. Whoever dials the address is refused. One who
// names it may listen there meanwhile.
func reserve(address string) (release func(), err error) {
	at, err := net.ResolveTCPAddr("tcp4", address)
	if err != nil {
		return nil, err
	}
	fd, err := syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM|syscall.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, os.NewSyscallError("socket", err)
	}
	bound := &syscall.SockaddrInet4{Port: at.Port, Addr: [4]byte(at.IP.To4())}
	err = os.NewSyscallError("setsockopt", syscall.SetsockoptInt(fd, syscall.SOL_SOCKET, syscall.SO_REUSEADDR, 1))
	if err == nil {
		err = os.NewSyscallError("bind", syscall.Bind(fd, bound))
	}
	if err != nil {
		_ = syscall.Close(fd)
		return nil, err
	}
	return func() { _ = syscall.Close(fd) }, nil
}
