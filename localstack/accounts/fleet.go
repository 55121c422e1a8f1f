package accounts

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"time"
)

// readHeaderTimeout bounds how slowly a client may begin.
const readHeaderTimeout = 10 * time.Second

// Fleet is some accounts behind real loopback sockets.
type Fleet struct {
	order []*member
}

// member is one account with its socket.
type member struct {
	account *Account
	address string // fixed once the first listener has it

	mu     sync.Mutex
	server *http.Server
	served chan error // the end of the server; nil while it is down

	release func() // gives the address up that is kept while it is down
}

// Start starts accounts of the given names on free ports of 127.0.0.1.
func Start(names ...string) (*Fleet, error) {
	configs := make([]Config, len(names))
	for i, name := range names {
		configs[i] = Config{Name: name}
	}
	return StartConfig(configs...)
}

// StartConfig starts accounts, all or none. Names must differ.
func StartConfig(configs ...Config) (*Fleet, error) {
	f := &Fleet{}
	for _, c := range configs {
		m := &member{account: New(c), address: c.Address}
		if m.address == "" {
			m.address = "127.0.0.1:0"
		}
		if f.find(m.account.Name()) != nil {
			return nil, errors.Join(fmt.Errorf("accounts: two are named %q", m.account.Name()), f.Close())
		}
		if err := m.up(); err != nil {
			return nil, errors.Join(fmt.Errorf("accounts: %s: %w", m.account.Name(), err), f.Close())
		}
		f.order = append(f.order, m)
	}
	return f, nil
}

// TB is the part of testing.TB that the helpers below need.
type TB interface {
	Helper()
	Fatalf(format string, args ...any)
	Cleanup(func())
}

// StartT starts accounts for one test, which fails when that fails.
func StartT(t TB, names ...string) *Fleet {
	t.Helper()
	configs := make([]Config, len(names))
	for i, name := range names {
		configs[i] = Config{Name: name}
	}
	return StartConfigT(t, configs...)
}

// StartConfigT starts configured accounts for one test.
func StartConfigT(t TB, configs ...Config) *Fleet {
	t.Helper()
	f, err := StartConfig(configs...)
	if err != nil {
		t.Fatalf("%v", err)
	}
	t.Cleanup(func() {
		if err := f.Close(); err != nil {
			t.Fatalf("closing the accounts: %v", err)
		}
	})
	return f
}

// InjectT arms a fault for one test.
func InjectT(t TB, a *Account, fault Fault) (id string) {
	t.Helper()
	id, err := a.Inject(fault)
	if err != nil {
		t.Fatalf("%v", err)
	}
	return id
}

// Accounts lists them in the order in which they were given.
func (f *Fleet) Accounts() []*Account {
	list := make([]*Account, len(f.order))
	for i, m := range f.order {
		list[i] = m.account
	}
	return list
}

// Account finds one by its name, nil for an unknown one.
func (f *Fleet) Account(name string) *Account {
	if m := f.find(name); m != nil {
		return m.account
	}
	return nil
}

// URL is an account's address without a path, such as http://127.0.0.1:40001;
// empty for an unknown name. It stays the same over Down and Up.
func (f *Fleet) URL(name string) string {
	if m := f.find(name); m != nil {
		return "http://" + m.address
	}
	return ""
}

// Count is the number of calls that all accounts got.
func (f *Fleet) Count() int {
	n := 0
	for _, m := range f.order {
		n += m.account.Count()
	}
	return n
}

// Down closes an account's socket and its connections: whoever dials it is
// refused. What the account remembers stays.
func (f *Fleet) Down(name string) error {
	m := f.find(name)
	if m == nil {
		return fmt.Errorf("accounts: none is named %q", name)
	}
	if err := m.down(); err != nil {
		return err
	}
	return m.keep()
}

// Up opens an account's socket again, at the same address.
func (f *Fleet) Up(name string) error {
	m := f.find(name)
	if m == nil {
		return fmt.Errorf("accounts: none is named %q", name)
	}
	return m.up()
}

// Close ends every waiting call and closes every socket. It is done when the
// servers are.
func (f *Fleet) Close() error {
	var errs []error
	for _, m := range f.order {
		m.account.Close()
		errs = append(errs, m.down())
		m.forgo()
	}
	return errors.Join(errs...)
}

func (f *Fleet) find(name string) *member {
	for _, m := range f.order {
		if m.account.Name() == name {
			return m
		}
	}
	return nil
}

func (m *member) up() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.served != nil {
		return nil
	}
	l, err := net.Listen("tcp", m.address)
	if err != nil {
		return err
	}
	m.address = l.Addr().String()
	m.forgoHeld()
	m.server = &http.Server{Handler: m.account, ReadHeaderTimeout: readHeaderTimeout,
		ErrorLog: slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)} // torn connections are its business
	m.served = make(chan error, 1)
	go func(s *http.Server, served chan<- error) { served <- s.Serve(l) }(m.server, m.served)
	return nil
}

func (m *member) down() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.served == nil {
		return nil
	}
	err := m.server.Close()
	if end := <-m.served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	m.served = nil
	return err
}

// keep holds the address of an account that is down, so that nobody else is found
// there and it can come back.
func (m *member) keep() (err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.release == nil {
		m.release, err = reserve(m.address)
	}
	return err
}

// forgo gives an address that is kept to everybody.
func (m *member) forgo() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.forgoHeld()
}

// forgoHeld is forgo for those who hold mu.
func (m *member) forgoHeld() {
	if m.release != nil {
		m.release()
		m.release = nil
	}
}
