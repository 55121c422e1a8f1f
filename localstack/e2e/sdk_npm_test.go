package e2e

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"holdfast/localstack/accounts"
)

// noted is what a script says of one answer.
type noted struct {
	Name, Session, Source, Affinity, Deployment string
	Text, Finish, Tool                          string
	Tokens, Chunks                              int
	Error, Code, Type, RetryAfter               string
	Status                                      int
}

// script runs one of the scripts in clients against a gateway, for a model.
func script(t *testing.T, base, name, model string, env ...string) []noted {
	t.Helper()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("node is missing: install Node 20 or newer and run `make setup`")
	}
	if _, err := os.Stat(filepath.Join("clients", "node_modules", ".package-lock.json")); err != nil {
		t.Fatal("the npm packages of localstack/e2e/clients are missing: run `make setup`")
	}
	if _, err := os.ReadDir("clients"); err != nil { // a changed script makes an old result void
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	command := exec.CommandContext(ctx, node, name)
	command.Dir = "clients"
	command.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "HOLDFAST_URL=" + base, "HOLDFAST_KEY=" + keyA, "HOLDFAST_MODEL=" + model}
	command.Env = append(command.Env, env...)
	out, err := command.Output()
	if failed, ended := err.(*exec.ExitError); ended {
		t.Fatalf("%s: %v\n%s", name, err, failed.Stderr)
	} else if err != nil {
		t.Fatal(err)
	}
	var all []noted
	if err := json.Unmarshal(out, &all); err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
	return all
}

// npmRig is accounts of which one is always at its limit and alone serves one
// more model.
func npmRig(t *testing.T) *rig {
	t.Helper()
	fleet := accounts.StartT(t, "alpha", "bravo", "charlie", "full")
	accounts.InjectT(t, fleet.Account("full"), accounts.Fault{Kind: accounts.RateLimit, RetryAfter: "60"})
	config := "connections:\n"
	deployments := "deployments:\n"
	for _, a := range fleet.Accounts() {
		config += "  - {id: " + a.Name() + ", provider: openai-compatible, base_url: " + fleet.URL(a.Name()) + "/v1, auth: {type: bearer, key: \"env:UPSTREAM_KEY\"}, allow_private_network: true}\n"
		for _, protocol := range protocols() {
			model := protocol
			if a.Name() == "full" {
				model = "limited-" + protocol
			}
			deployments += "  - {id: " + protocol + "-" + a.Name() + ", model: " + model + ", connection: " + a.Name() + ", protocol: " + protocol + "}\n"
		}
	}
	return rigOf(t, fleet, config+deployments+"keys: [{id: a, key: \""+keyA+"\"}]\n", "memory")
}

// conversed checks the four turns that every script begins with: one session,
// claimed once, hit by the same deployment from the second turn on.
func conversed(t *testing.T, all []noted, stop, calling string) []noted {
	t.Helper()
	if len(all) < 4 {
		t.Fatalf("only %d turns: %+v", len(all), all)
	}
	first := all[0]
	for i, n := range all[:4] {
		affinity, finish := "hit", stop
		if i == 0 {
			affinity = "claimed"
		}
		if i == 2 {
			finish = calling
		}
		if n.Session == "" || n.Session != first.Session || n.Source != "prompt" || n.Affinity != affinity || n.Deployment != first.Deployment {
			t.Errorf("%s: session %q from %s, %s by %s; want %q, %s by %s", n.Name, n.Session, n.Source, n.Affinity, n.Deployment, first.Session, affinity, first.Deployment)
		}
		if n.Finish != finish || (n.Text == "") != (i == 2) || (n.Tool == "bash") != (i == 2) || i%3 == 0 && n.Tokens == 0 {
			t.Errorf("%s: %+v", n.Name, n)
		}
	}
	return all[4:]
}

// told checks how a call failed.
func (n noted) told(t *testing.T, error string, status int, code, kind string) {
	t.Helper()
	if n.Error != error || n.Status != status || n.Code != code || n.Type != kind {
		t.Errorf("%s: %s %d %s %s, want %s %d %s %s", n.Name, n.Error, n.Status, n.Code, n.Type, error, status, code, kind)
	}
}

// onEachProtocol runs a client against deployments of its own protocol and of the
// two others.
func onEachProtocol(t *testing.T, run func(*testing.T, string)) {
	t.Parallel()
	for _, protocol := range protocols() {
		t.Run(protocol, func(t *testing.T) { run(t, protocol) })
	}
}

// TestSDKVercel runs the AI SDK over each endpoint on deployments of each
// protocol: plain, streamed, and with the tool's round trip made by the SDK.
func TestSDKVercel(t *testing.T) {
	t.Parallel()
	for _, endpoint := range protocols() {
		t.Run(endpoint, func(t *testing.T) {
			for _, protocol := range protocols() {
				t.Run(protocol, func(t *testing.T) {
					r := npmRig(t)
					all := script(t, r.URL, "ai-sdk.mjs", protocol, "HOLDFAST_ENDPOINT="+endpoint)
					if len(all) != 4 {
						t.Fatalf("%d turns: %+v", len(all), all)
					}
					for i, n := range all {
						called := i >= 2
						if n.Finish != "stop" || n.Text == "" || n.Deployment != all[0].Deployment || n.Session != all[0].Session ||
							(n.Tool == "bash") != called || called && n.Chunks != 2 || !called && n.Tokens == 0 {
							t.Errorf("%s: %+v", n.Name, n)
						}
					}
				})
			}
		})
	}
}

// TestSDKNpmChat runs the openai package over Chat Completions.
func TestSDKNpmChat(t *testing.T) { onEachProtocol(t, npmChat) }

func npmChat(t *testing.T, protocol string) {
	r := npmRig(t)
	rest := conversed(t, script(t, r.URL, "openai-chat.mjs", protocol), "stop", "tool_calls")
	if len(rest) != 3 {
		t.Fatalf("%d refusals, want 3: %+v", len(rest), rest)
	}
	rest[0].told(t, "AuthenticationError", 401, "invalid_api_key", "authentication_error")
	rest[1].told(t, "NotFoundError", 404, "model_not_found", "not_found_error")
	limited(t, rest[2])
}

// TestSDKNpmResponses runs the openai package over Responses.
func TestSDKNpmResponses(t *testing.T) { onEachProtocol(t, npmResponses) }

func npmResponses(t *testing.T, protocol string) {
	r := npmRig(t)
	rest := conversed(t, script(t, r.URL, "openai-responses.mjs", protocol), "completed", "completed")
	if len(rest) != 5 {
		t.Fatalf("%d more turns, want 5: %+v", len(rest), rest)
	}
	kept := rest[0]
	for _, n := range rest[1:3] {
		if n.Session != kept.Session || n.Source != "parent" || n.Affinity != "required" || n.Deployment != kept.Deployment || n.Text == "" || n.Finish != "completed" {
			t.Errorf("%s: %+v after %+v", n.Name, n, kept)
		}
	}
	rest[3].told(t, "BadRequestError", 400, "previous_response_not_found", "invalid_request_error")
	rest[4].told(t, "AuthenticationError", 401, "invalid_api_key", "authentication_error")
}

// TestSDKNpmMessages runs the @anthropic-ai/sdk package.
func TestSDKNpmMessages(t *testing.T) { onEachProtocol(t, npmMessages) }

func npmMessages(t *testing.T, protocol string) {
	r := npmRig(t)
	rest := conversed(t, script(t, r.URL, "anthropic-messages.mjs", protocol), "end_turn", "tool_use")
	if len(rest) != 3 {
		t.Fatalf("%d refusals, want 3: %+v", len(rest), rest)
	}
	rest[0].told(t, "AuthenticationError", 401, "invalid_api_key", "authentication_error")
	rest[1].told(t, "NotFoundError", 404, "model_not_found", "not_found_error")
	limited(t, rest[2])
}

// limited checks that a limit is told with the time to wait.
func limited(t *testing.T, n noted) {
	t.Helper()
	if n.Error != "RateLimitError" || n.Status != 429 || n.RetryAfter == "" || n.RetryAfter == "0" {
		t.Errorf("%s: %+v", n.Name, n)
	}
}
