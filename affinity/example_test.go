package affinity_test

import (
	"context"
	"errors"
	"fmt"

	"holdfast/affinity"
	"holdfast/affinity/identity"
)

// resolver identifies sessions as the gateway does by default.
func resolver() *identity.Resolver {
	r, err := identity.Compile(identity.Rules{Enabled: true, AutoDetect: true, Builtin: true})
	if err != nil {
		panic(err)
	}
	return r
}

// An explicit session has a preference: a wish that orders candidates. The first
// turn claims it, its success confirms it, later turns find it in any process.
func Example() {
	ctx := context.Background()
	state := affinity.New(affinity.Config{})
	alice := identity.KeyScope("alice")

	for turn := range 2 {
		signals, err := resolver().Read(identity.Request{
			Endpoint: "chat",
			Header:   map[string][]string{"X-Session-Id": {"my-conversation"}},
		})
		if err != nil {
			panic(err)
		}
		plan, err := state.Plan(ctx, affinity.Request{Scope: alice, Signals: signals, Model: "gpt-5", Endpoint: "chat"})
		if err != nil {
			panic(err)
		}
		served := affinity.Target{Deployment: "account-a", Model: "gpt-5", Pool: "gpt-5"}
		if plan.Preference != nil {
			served = *plan.Preference
		} else if served, err = plan.Claim(ctx, served); err != nil {
			panic(err)
		}
		// The call to served happens here, and succeeds.
		word := plan.Outcome(served)
		done, err := plan.Commit(ctx, served)
		fmt.Println("turn", turn+1, plan.Session.ID, plan.Session.Source, word, served.Deployment, done, err)
	}
	// Output:
	// turn 1 my-conversation explicit claimed account-a renewed <nil>
	// turn 2 my-conversation explicit hit account-a renewed <nil>
}

// A continuation belongs to whoever made its parent: that deployment is
// required, and the history before it can be restored.
func ExampleState_Publish() {
	ctx := context.Background()
	state := affinity.New(affinity.Config{})
	alice := identity.KeyScope("alice")

	ask := func(scope identity.Scope, previous string) (*affinity.Plan, error) {
		signals, err := resolver().Read(identity.Request{
			Endpoint: "responses",
			Member: func(name string) []byte {
				switch {
				case name == "input":
					return []byte(`"Hello"`)
				case name == "previous_response_id" && previous != "":
					return fmt.Appendf(nil, "%q", previous)
				}
				return nil
			},
		})
		if err != nil {
			panic(err)
		}
		return state.Plan(ctx, affinity.Request{Scope: scope, Signals: signals, Model: "gpt-5", Endpoint: "responses"})
	}
	previous := ""
	for _, id := range []string{"resp_1", "resp_2"} {
		plan, err := ask(alice, previous)
		if err != nil {
			panic(err)
		}
		published := plan.Publication(id)
		published.Owner.Deployment, published.Owner.Connection = "account-a", "openai-a"
		published.Turn = &affinity.Turn{Input: []byte("question of " + id), Output: []byte("answer of " + id)}
		if err := state.Publish(ctx, published); err != nil {
			panic(err)
		}
		previous = id
	}

	plan, err := ask(alice, "resp_2")
	if err != nil {
		panic(err)
	}
	fmt.Println(plan.Outcome(affinity.Target{}), plan.Owner.Deployment, plan.Session.Source)
	turns, err := state.History(ctx, *plan.Owner)
	if err != nil {
		panic(err)
	}
	for _, turn := range turns {
		fmt.Printf("%s, %s\n", turn.Input, turn.Output)
	}
	_, err = ask(identity.KeyScope("bob"), "resp_2")
	fmt.Println("bob:", errors.Is(err, affinity.ErrParentNotFound))
	// Output:
	// required account-a parent
	// question of resp_1, answer of resp_1
	// question of resp_2, answer of resp_2
	// bob: true
}

// A task goes back to the account that runs it, and is billed once from what
// was known at its creation.
func ExampleState_CreateTask() {
	ctx := context.Background()
	state := affinity.New(affinity.Config{})
	alice := identity.KeyScope("alice")

	err := state.CreateTask(ctx, alice, affinity.Task{
		Kind: affinity.Video, ID: "video_1",
		Owner: affinity.Owner{Deployment: "account-b", Native: true},
		Facts: affinity.Facts{Known: true, Model: "sora", Parameters: map[string]string{"seconds": "8"}},
	})
	if err != nil {
		panic(err)
	}

	task, err := state.Task(ctx, alice, affinity.Video, "video_1")
	if err != nil {
		panic(err)
	}
	fmt.Println(task.Owner.Deployment, task.Facts.Known, task.Facts.Model, task.Facts.Parameters["seconds"])
	for range 2 {
		first, err := state.FinishTask(ctx, alice, affinity.Video, "video_1")
		fmt.Println("bill:", first, err)
	}
	_, err = state.Task(ctx, identity.KeyScope("bob"), affinity.Video, "video_1")
	fmt.Println("bob:", errors.Is(err, affinity.ErrNotFound))
	// Output:
	// account-b true sora 8
	// bill: true <nil>
	// bill: false <nil>
	// bob: true
}
