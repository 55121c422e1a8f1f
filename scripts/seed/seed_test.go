package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"

	"holdfast/affinity/store/dynamo"
	"holdfast/affinity/store/revision"
	"holdfast/localstack/dynalite"
	"holdfast/localstack/e2e/process"
)

const document = `
connections: [{id: a, provider: openai, auth: {key: "ssm:/PREFIX/openai"}}]
deployments: [{id: d, model: seeded-model, connection: a, protocol: chat}]
keys: [{id: team, key: "env:TEAM_KEY", user: team}]
`

const teamKey = "sk-hf-team-0123456789"

// bench is a deployment's tables and an operator before them.
type bench struct {
	t      *testing.T
	prefix string
	client *dynamodb.Client
}

func newBench(t *testing.T) bench {
	t.Helper()
	server := dynalite.StartT(t)
	t.Setenv(dynalite.EndpointVariable, server.Endpoint())
	client, err := dynamo.NewClient(dynamo.Config{Endpoint: server.Endpoint()})
	if err != nil {
		t.Fatal(err)
	}
	if err := dynamo.CreateTables(t.Context(), client, server.Prefix()); err != nil {
		t.Fatal(err)
	}
	return bench{t, server.Prefix(), client}
}

// seed runs the command over a document.
func (b bench) seed(text string, args ...string) (code int, out string) {
	b.t.Helper()
	file := filepath.Join(b.t.TempDir(), "holdfast.yaml")
	text = strings.ReplaceAll(text, "PREFIX", strings.TrimRight(b.prefix, "-"))
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		b.t.Fatal(err)
	}
	var said bytes.Buffer
	lookup := func(name string) (string, bool) { return teamKey, name == "TEAM_KEY" }
	code = run(b.t.Context(), append(append([]string{"-prefix", b.prefix}, args...), file), lookup, &said, &said)
	return code, said.String()
}

var revisionForm = regexp.MustCompile(`[0-9]{8}T[0-9]{6}\.[0-9]+-[A-Z2-7]{8}`)

// TestSeed follows an operator: the first document, the same again, another one
// without and with the revision that it replaces, and an old page of notes.
func TestSeed(t *testing.T) {
	b := newBench(t)
	code, out := b.seed(document)
	first := revisionForm.FindString(out)
	if code != 0 || first == "" {
		t.Fatalf("exit %d: %s", code, out)
	}
	if code, out := b.seed(document); code != 0 || !strings.Contains(out, first+" already is") {
		t.Errorf("the same again: exit %d: %s", code, out)
	}
	other := strings.Replace(document, "seeded-model", "other-model", 1)
	if code, out := b.seed(other); code != 1 || !strings.Contains(out, "-replace "+first) {
		t.Errorf("over an unread revision: exit %d: %s", code, out)
	}
	code, out = b.seed(other, "-replace", first)
	second := revisionForm.FindString(out)
	if code != 0 || second == first {
		t.Fatalf("over the revision read: exit %d: %s", code, out)
	}
	if code, out := b.seed(document, "-replace", first); code != 1 || !strings.Contains(out, second) {
		t.Errorf("over a revision that is gone: exit %d: %s", code, out)
	}
}

func TestReplaceNothing(t *testing.T) {
	b := newBench(t)
	if code, out := b.seed(document, "-replace", "20261130T120000.000-AAAAAAAA"); code != 1 || !strings.Contains(out, "none is stored") {
		t.Errorf("exit %d: %s", code, out)
	}
}

// TestOneSeedWins: of two operators at once one document rules, and the other
// one's operator is told.
func TestOneSeedWins(t *testing.T) {
	b := newBench(t)
	codes, all := make([]int, 2), sync.WaitGroup{}
	for i := range codes {
		text := strings.Replace(document, "seeded-model", "model-"+string(rune('a'+i)), 1)
		all.Go(func() { codes[i], _ = b.seed(text) })
	}
	all.Wait()
	if codes[0]+codes[1] != 1 {
		t.Errorf("exits %v, want one winner", codes)
	}
}

// TestNothingIsWritten: a refused document and a check leave the tables alone.
func TestNothingIsWritten(t *testing.T) {
	b := newBench(t)
	rows := map[string]struct {
		text string
		args []string
		code int
		says string
	}{
		"a literal secret":    {strings.Replace(document, "ssm:/PREFIX/openai", "sk-proj-1", 1), nil, 1, "connections[0].auth.key"},
		"a reference astray":  {strings.Replace(document, "/PREFIX/", "/elsewhere/", 1), nil, 1, "connections[0].auth.key"},
		"an unset caller key": {strings.Replace(document, "TEAM_KEY", "OTHER_KEY", 1), nil, 1, "OTHER_KEY is not set"},
		"a typing error":      {document + "\ndeployment: []\n", nil, 1, "deployment"},
		"a check":             {document, []string{"-check"}, 0, "can be deployed"},
		"a wrong flag":        {document, []string{"-x"}, 2, "-x"},
	}
	for name, row := range rows {
		t.Run(name, func(t *testing.T) {
			code, out := b.seed(row.text, row.args...)
			if code != row.code || !strings.Contains(out, row.says) || strings.Contains(out, "sk-proj-1") {
				t.Errorf("exit %d: %s", code, out)
			}
		})
	}
	all, err := b.client.Scan(t.Context(), &dynamodb.ScanInput{TableName: aws.String(b.prefix + "config")})
	if err != nil || len(all.Items) > 0 {
		t.Errorf("%d items were written, %v", len(all.Items), err)
	}
}

// stored is the document that rules, as the tables hold it.
func (b bench) stored() string {
	b.t.Helper()
	tables, err := dynamo.New(dynamo.Config{Client: b.client, Prefix: b.prefix})
	if err != nil {
		b.t.Fatal(err)
	}
	log := revision.Log{Store: tables}
	head, err := log.Head(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	text, err := log.Document(b.t.Context(), revision.Name(head))
	if err != nil {
		b.t.Fatal(err)
	}
	return string(text)
}

// TestGatewayReadsIt runs the product on the tables: the seeded document rules,
// and the caller's key, which is stored nowhere, opens it.
func TestGatewayReadsIt(t *testing.T) {
	b := newBench(t)
	if code, out := b.seed(document); code != 0 {
		t.Fatal(out)
	}
	sum := sha256.Sum256([]byte(teamKey))
	if text := b.stored(); strings.Contains(text, teamKey) || !strings.Contains(text, hex.EncodeToString(sum[:])) {
		t.Errorf("stored is %s, want the hash of the caller's key and not the key", text)
	}
	folder := t.TempDir()
	binary, err := process.Build(folder)
	if err != nil {
		t.Fatal(err)
	}
	gateway, err := process.Start(process.Options{
		Binary: binary, Store: "dynamodb", Data: folder, Args: []string{"-demo"},
		Env: []string{"HOLDFAST_TABLE_PREFIX=" + b.prefix, dynalite.EndpointVariable + "=" + os.Getenv(dynalite.EndpointVariable)},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(gateway.Kill)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, gateway.URL+"/v1/models", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+teamKey)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	if text, err := io.ReadAll(answer.Body); err != nil || answer.StatusCode != http.StatusOK || !strings.Contains(string(text), "seeded-model") {
		t.Errorf("status %d: %s %v", answer.StatusCode, text, err)
	}
}
