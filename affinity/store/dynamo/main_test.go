package dynamo_test

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"net/http/httptest"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"holdfast/affinity/store/dynamo"
	"holdfast/localstack/dynalite"
	"holdfast/localstack/wirefault"
)

// backend is the DynamoDB of all tests here: one process, started once.
var backend *dynalite.Server

func TestMain(m *testing.M) {
	if os.Getenv(racerVariable) != "" {
		os.Exit(racer())
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	server, err := dynalite.Start(context.Background())
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer server.Close()
	backend = server
	return m.Run()
}

// Generous deadlines for tests that are not about deadlines, so that a busy
// machine does not turn a pause into a lost answer.
const (
	patientAttempt = 20 * time.Second
	patientTotal   = time.Minute
)

// fixture is a set of tables of its own behind a front of its own.
type fixture struct {
	front    *wirefault.Front
	server   *httptest.Server // serves the front; Close waits for late requests
	endpoint string           // of the front
	prefix   string
	client   *dynamodb.Client
}

// newFixture makes one whose failed conditions carry the item that stands, or
// do not.
func newFixture(t testing.TB, allOld bool) *fixture {
	t.Helper()
	f := newEmptyFixture(t, allOld)
	createTables(t, f.prefix)
	return f
}

// newEmptyFixture leaves the creation of tables to the test.
func newEmptyFixture(t testing.TB, allOld bool) *fixture {
	t.Helper()
	items := wirefault.Withheld
	if allOld {
		items = wirefault.Returned
	}
	f := &fixture{
		front:  wirefault.New(wirefault.Config{Target: backend.Endpoint(), Items: items}),
		prefix: randomPrefix(t),
	}
	f.server = httptest.NewServer(f.front)
	t.Cleanup(f.server.Close)
	f.endpoint = f.server.URL
	f.client = newClient(t, f.endpoint)
	t.Cleanup(func() { onlyAllowed(t, f.front.Counts()) })
	return f
}

// onlyAllowed holds what went over the wire against the permissions that the
// gateway has: no Scan, no DeleteItem, no transaction on any path.
func onlyAllowed(t testing.TB, counts map[string]int) {
	t.Helper()
	allowed := []string{"BatchGetItem", "GetItem", "PutItem", "UpdateItem", "Query", "CreateTable", "DescribeTable"}
	for operation := range counts {
		if !slices.Contains(allowed, operation) {
			t.Errorf("%s went over the wire", operation)
		}
	}
}

// open opens a store through the front.
func (f *fixture) open(t testing.TB, adjust func(*dynamo.Config)) *dynamo.Store {
	t.Helper()
	c := dynamo.Config{Client: f.client, Prefix: f.prefix, AttemptTimeout: patientAttempt, Timeout: patientTotal}
	if adjust != nil {
		adjust(&c)
	}
	s, err := dynamo.New(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func newClient(t testing.TB, endpoint string) *dynamodb.Client {
	t.Helper()
	httpClient := dynamo.NewHTTPClient()
	t.Cleanup(httpClient.CloseIdleConnections)
	client, err := dynamo.NewClient(dynamo.Config{Endpoint: endpoint, HTTPClient: httpClient})
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// createTables goes past any front, so that its counts show the store's calls.
func createTables(t testing.TB, prefix string) {
	t.Helper()
	if err := dynamo.CreateTables(t.Context(), newClient(t, backend.Endpoint()), prefix); err != nil {
		t.Fatal(err)
	}
}

func randomPrefix(t testing.TB) string {
	t.Helper()
	b := make([]byte, 6)
	if _, err := rand.Read(b); err != nil {
		t.Fatal(err)
	}
	return backend.Prefix() + hex.EncodeToString(b) + "-"
}
