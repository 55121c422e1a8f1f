package proof

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// callerKey is the key of the gateways that a run starts.
const callerKey = "sk-proof"

// Prices of the simulated accounts in USD per million tokens.
const (
	priceInput  = 3.0
	priceCached = 0.3
	priceWrite  = 3.75
	priceOutput = 15.0
)

// Usage is tokens as the accounts report them. Input holds all of a prompt.
type Usage struct {
	Input   int
	Cached  int // read from a cache
	Written int // written to one, where the protocol says
	Output  int
}

func (u *Usage) add(o Usage) {
	u.Input += o.Input
	u.Cached += o.Cached
	u.Written += o.Written
	u.Output += o.Output
}

// Cost is the price of the usage in USD.
func (u Usage) Cost() float64 {
	fresh := float64(u.Input - u.Cached - u.Written)
	return (fresh*priceInput + float64(u.Cached)*priceCached + float64(u.Written)*priceWrite + float64(u.Output)*priceOutput) / 1e6
}

// protocols are those that conversations take turns in.
func protocols() []string { return []string{"chat", "responses", "messages"} }

// conversation is one growing conversation that re-sends its whole history, as
// agents do. It carries no session id: the gateway must recognise it.
type conversation struct {
	protocol string
	turns    []map[string]any
	usage    Usage
	served   map[string]bool // deployments
}

// Sizes in words; a word is about two tokens.
const (
	openingWords = 1500
	turnWords    = 300
)

func newConversation(number int) *conversation {
	c := &conversation{protocol: protocols()[number%3], served: map[string]bool{}}
	c.say("user", fmt.Sprintf("Conversation %d. %s", number, prose(openingWords)))
	return c
}

func (c *conversation) say(role, text string) {
	c.turns = append(c.turns, map[string]any{"role": role, "content": text})
}

// prose is text of some words, the same for everybody: what tells conversations
// apart stands before it.
func prose(words int) string { return strings.Repeat("lantern ", words) }

// run holds the whole conversation.
func (c *conversation) run(ctx context.Context, url string, turns int) error {
	for turn := range turns {
		text, err := c.ask(ctx, url)
		if err != nil {
			return fmt.Errorf("turn %d: %w", turn+1, err)
		}
		c.say("assistant", text)
		c.say("user", fmt.Sprintf("Go on, part %d. %s", turn+2, prose(turnWords)))
	}
	return nil
}

// ask sends the conversation so far and returns the answer's text.
func (c *conversation) ask(ctx context.Context, url string) (string, error) {
	body := map[string]any{"model": c.protocol}
	path := "/v1/" + c.protocol
	switch c.protocol {
	case "chat":
		path, body["messages"] = "/v1/chat/completions", c.turns
	case "responses":
		body["input"] = c.turns
	case "messages":
		body["messages"], body["max_tokens"] = c.turns, 64
	}
	encoded, err := json.Marshal(body)
	if err != nil {
		return "", err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url+path, bytes.NewReader(encoded))
	if err != nil {
		return "", err
	}
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Authorization", "Bearer "+callerKey)
	request.Header.Set("Anthropic-Version", "2023-06-01")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	answer, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %d: %.300s", response.StatusCode, answer)
	}
	c.served[response.Header.Get("X-Holdfast-Deployment")] = true
	return c.read(answer)
}

// reply is an answer of any of the protocols, as far as it matters here.
type reply struct {
	Choices []struct {
		Message struct{ Content string }
	}
	Output []struct {
		Content []struct{ Text string }
	}
	Content []struct{ Text string }
	Usage   struct {
		Prompt        int `json:"prompt_tokens"`
		Completion    int `json:"completion_tokens"`
		PromptDetails struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		Input        int `json:"input_tokens"`
		Output       int `json:"output_tokens"`
		InputDetails struct {
			Cached int `json:"cached_tokens"`
		} `json:"input_tokens_details"`
		CacheRead  int `json:"cache_read_input_tokens"`
		CacheWrite int `json:"cache_creation_input_tokens"`
	}
}

// read takes an answer's usage into account and returns its text.
func (c *conversation) read(answer []byte) (string, error) {
	var r reply
	if err := json.Unmarshal(answer, &r); err != nil {
		return "", err
	}
	u := r.Usage
	c.usage.add(Usage{
		Input:   u.Prompt + u.Input + u.CacheRead + u.CacheWrite,
		Cached:  u.PromptDetails.Cached + u.InputDetails.Cached + u.CacheRead,
		Written: u.CacheWrite,
		Output:  u.Completion + u.Output,
	})
	var text strings.Builder
	for _, choice := range r.Choices {
		text.WriteString(choice.Message.Content)
	}
	for _, item := range r.Output {
		for _, part := range item.Content {
			text.WriteString(part.Text)
		}
	}
	for _, part := range r.Content {
		text.WriteString(part.Text)
	}
	return text.String(), nil
}
