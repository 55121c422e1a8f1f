package dynalite_test

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"holdfast/localstack/dynalite"
)

// childVariable makes the test binary act as a process that starts a server
// and then waits to be killed.
const childVariable = "HOLDFAST_DYNALITE_CHILD"

func TestMain(m *testing.M) {
	if os.Getenv(childVariable) == "" {
		os.Exit(m.Run())
	}
	s, err := dynalite.Start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.Endpoint())
	select {}
}

func TestStartAnswersAndStops(t *testing.T) {
	t.Setenv(dynalite.EndpointVariable, "")
	s, err := dynalite.Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if got := get(t, s.Endpoint()); !strings.HasPrefix(got, "healthy") {
		t.Errorf("GET / = %q", got)
	}
	host, _, err := net.SplitHostPort(address(t, s.Endpoint()))
	if err != nil || !net.ParseIP(host).IsLoopback() {
		t.Errorf("listens on %s, not on loopback", s.Endpoint())
	}
	for range 2 {
		if err := s.Close(); err != nil {
			t.Errorf("Close: %v", err)
		}
	}
	if answers(address(t, s.Endpoint())) {
		t.Error("still answers after Close")
	}
}

func TestEnvironmentDecides(t *testing.T) {
	const endpoint = "http://127.0.0.1:4566"
	t.Setenv(dynalite.EndpointVariable, endpoint)
	t.Setenv("PATH", "") // nothing could be started
	a, b := dynalite.StartT(t), dynalite.StartT(t)
	if a.Endpoint() != endpoint || b.Endpoint() != endpoint {
		t.Errorf("endpoints %q, %q, want %q", a.Endpoint(), b.Endpoint(), endpoint)
	}
	if a.Prefix() == b.Prefix() {
		t.Errorf("two servers share the prefix %q", a.Prefix())
	}
}

// recorder stands for a *testing.T to see what StartT does with it.
type recorder struct{ fatal string }

func (r *recorder) Helper()        {}
func (r *recorder) Cleanup(func()) {}
func (r *recorder) Fatal(args ...any) {
	r.fatal = fmt.Sprint(args...)
	panic(r)
}

func TestMissingNodeFailsTheTest(t *testing.T) {
	t.Setenv(dynalite.EndpointVariable, "")
	t.Setenv("PATH", "")
	var r recorder
	func() {
		defer func() { _ = recover() }()
		dynalite.StartT(&r)
	}()
	if !strings.Contains(r.fatal, "node is not installed") {
		t.Errorf("failed with %q, want the missing node named", r.fatal)
	}
}

func TestServerDiesWithItsParent(t *testing.T) {
	t.Setenv(dynalite.EndpointVariable, "")
	child := exec.Command(os.Args[0])
	child.Env = append(os.Environ(), childVariable+"=1")
	child.Stderr = os.Stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	endpoint, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	addr := address(t, strings.TrimSpace(endpoint))
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()

	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()

	// The open connection tells of the server's end, without polling.
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadAll(conn); os.IsTimeout(err) {
		t.Fatal("the server outlives its killed parent")
	}
	// The kernel closes a dying process's sockets one by one: the listener may be
	// a moment behind the connection.
	for tries := 0; answers(addr); tries++ {
		if tries == 200 {
			t.Fatal("still answers")
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// A client that hangs up in the middle of a request must not end the server.
func TestSurvivesTornRequest(t *testing.T) {
	t.Setenv(dynalite.EndpointVariable, "")
	s := dynalite.StartT(t)
	conn, err := net.Dial("tcp", address(t, s.Endpoint()))
	if err != nil {
		t.Fatal(err)
	}
	fmt.Fprint(conn, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{")
	if err := conn.(*net.TCPConn).SetLinger(0); err != nil {
		t.Fatal(err)
	}
	conn.Close()
	for range 3 {
		if got := get(t, s.Endpoint()); !strings.HasPrefix(got, "healthy") {
			t.Fatalf("GET / = %q", got)
		}
	}
}

func get(t *testing.T, endpoint string) string {
	t.Helper()
	resp, err := http.Get(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}

func address(t *testing.T, endpoint string) string {
	t.Helper()
	u, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	return u.Host
}

func answers(addr string) bool {
	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		return false
	}
	conn.Close()
	return true
}
