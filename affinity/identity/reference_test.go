package identity_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"strings"
	"testing"
	"unicode"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// reference is the fingerprint written a second time, over decoded values and
// with the library's canonical form, as something to compare with. It returns
// "" where an opening has no fingerprint.
func reference(t testing.TB, endpoint string, body map[string]any) string {
	t.Helper()
	turns, ok := referenceTurns(endpoint, body)
	if !ok {
		return ""
	}
	sum := sha256.Sum256(canonicalJSON(t, turns))
	return "prompt:v1:" + hex.EncodeToString(sum[:])
}

func canonicalJSON(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	value := jsontext.Value(data)
	if err := value.Canonicalize(); err != nil {
		t.Fatal(err)
	}
	return value
}

func referenceTurns(endpoint string, body map[string]any) (turns []any, ok bool) {
	first, list := any(nil), body["messages"]
	switch endpoint {
	case "messages":
		first = body["system"]
	case "responses":
		first, list = body["instructions"], body["input"]
		if text, is := list.(string); is {
			list = []any{map[string]any{"role": "user", "content": text}}
		}
	}
	add := func(role string, content any) (count int, ok bool) {
		blocks, ok := referenceBlocks(content, role != "user", false)
		if len(blocks) > 0 {
			turns = append(turns, map[string]any{"role": role, "content": blocks})
		}
		return len(blocks), ok
	}
	items, isList := list.([]any)
	if _, ok := add("system", first); !ok || !isList {
		return nil, false
	}
	instructing := true
	for _, item := range items {
		turn, is := item.(map[string]any)
		if !is {
			return nil, false
		}
		if kind := turn["type"]; endpoint == "responses" && kind != nil && kind != "message" {
			text, _ := kind.(string)
			if text != "reasoning" && !strings.HasPrefix(text, "mcp_") && !strings.HasSuffix(text, "_call") && !strings.HasSuffix(text, "_call_output") || len(text) > 128 {
				return nil, false
			}
			continue
		}
		switch role := turn["role"]; role {
		case "system", "developer":
			if !instructing {
				continue
			}
			if _, ok := add(role.(string), turn["content"]); !ok {
				return nil, false
			}
		case "user":
			blocks, ok := referenceBlocks(turn["content"], false, false)
			if !ok {
				return nil, false
			}
			for _, b := range blocks {
				block := b.(map[string]any)
				if text, is := block["text"].(string); !is || strings.TrimFunc(text, unicode.IsSpace) != "" {
					return append(turns, map[string]any{"role": role, "content": blocks}), true
				}
			}
			onlyResults := len(blocks) == 0 && turn["content"] != nil
			if list, is := turn["content"].([]any); is && len(list) == 0 {
				onlyResults = false
			}
			instructing = instructing && onlyResults
		case "assistant", "tool", "function":
		default:
			return nil, false
		}
	}
	return nil, false
}

func referenceBlocks(content any, instructions, nested bool) (blocks []any, ok bool) {
	if content == nil {
		return nil, true
	}
	if text, is := content.(string); is {
		content = []any{text}
	}
	list, is := content.([]any)
	if !is {
		return nil, false
	}
	for _, item := range list {
		if text, is := item.(string); is {
			item = map[string]any{"type": "text", "text": text}
		}
		block, is := item.(map[string]any)
		if !is {
			return nil, false
		}
		kind, _ := block["type"].(string)
		canonical, name := any(nil), ""
		switch kind {
		case "text", "input_text":
			text, is := block["text"].(string)
			if !is {
				return nil, false
			}
			if instructions && len(text) >= len("x-anthropic-billing-header:") && strings.EqualFold(text[:len("x-anthropic-billing-header:")], "x-anthropic-billing-header:") {
				continue
			}
			blocks = append(blocks, map[string]any{"type": "text", "text": text})
			continue
		case "image_url", "input_image", "image":
			name = "image"
		case "input_audio":
			name = "audio"
		case "document", "input_file", "file", "container_upload":
			name = "document"
		default:
			if strings.HasSuffix(kind, "tool_result") && len(kind) <= 128 {
				continue
			}
			return nil, false
		}
		canonical, is = referenceMedia(block, name, nested)
		if !is {
			return nil, false
		}
		blocks = append(blocks, canonical)
	}
	return blocks, true
}

func referenceMedia(block map[string]any, name string, nested bool) (any, bool) {
	carrier := block
	inner := first(block, "source", "file", "input_audio")
	switch image := block["image_url"].(type) {
	case nil:
	case string:
		carrier = map[string]any{"file_id": block["file_id"], "file_url": block["file_url"], "url": image}
	case map[string]any:
		carrier = map[string]any{"url": image["url"]}
		for key, value := range block {
			if key != "url" {
				carrier[key] = value
			}
		}
	default:
		if inner == nil {
			return nil, false
		}
	}
	if inner != nil {
		object, is := inner.(map[string]any)
		if !is {
			return nil, false
		}
		carrier = object
	}
	ref, ok := referenceRef(carrier, name, nested)
	if name == "document" && carrier["file_id"] != nil {
		name = "file"
	}
	return map[string]any{"type": name, "ref": ref}, ok
}

func first(m map[string]any, keys ...string) any {
	for _, key := range keys {
		if m[key] != nil {
			return m[key]
		}
	}
	return nil
}

func referenceRef(m map[string]any, name string, nested bool) (string, bool) {
	word := func(key string) string {
		text, _ := m[key].(string)
		if len(text) > 128 {
			text = ""
		}
		return text
	}
	mediaType := bareType(word("media_type"))
	plain := func(v any) (string, bool) {
		text, is := v.(string)
		return text, is && strings.TrimFunc(text, unicode.IsSpace) != ""
	}
	if id := m["file_id"]; id != nil {
		return plain(id)
	}
	data := first(m, "file_data", "data")
	if url := first(m, "file_url", "url"); url != nil {
		if text, is := url.(string); !is || !strings.HasPrefix(strings.ToLower(text), "data:") {
			return plain(url)
		}
		data = url
	} else if data != nil && word("type") == "text" {
		text, is := data.(string)
		if mediaType == "" {
			mediaType = "text/plain"
		}
		return hashed([]byte(text), mediaType), is
	}
	if data == nil {
		blocks, ok := referenceBlocks(m["content"], false, true)
		if nested || !ok || len(blocks) == 0 {
			return "", false
		}
		canonical, err := json.Marshal([]any{map[string]any{"role": "user", "content": blocks}})
		if err != nil || (*jsontext.Value)(&canonical).Canonicalize() != nil {
			return "", false
		}
		return hashed(canonical, "application/json"), true
	}
	if format := word("format"); mediaType == "" && name == "audio" && format != "" {
		mediaType = "audio/" + strings.ToLower(format)
	}
	if mediaType == "" {
		mediaType = "application/octet-stream"
	}
	text, is := data.(string)
	if strings.HasPrefix(strings.ToLower(text), "data:") {
		head, rest, found := strings.Cut(text, ",")
		if !found || len(head) >= 256 {
			return "", false
		}
		kind, coded := strings.CutSuffix(strings.ToLower(head[len("data:"):]), ";base64")
		if !coded {
			return text, true
		}
		if text, mediaType = rest, bareType(kind); mediaType == "" {
			mediaType = "text/plain"
		}
	}
	text = strings.NewReplacer(" ", "", "\n", "", "\r", "", "\t", "", "-", "+", "_", "/").Replace(text)
	body, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	return hashed(body, mediaType), is && err == nil && len(body) > 0
}

func bareType(text string) string {
	text, _, _ = strings.Cut(text, ";")
	return strings.ToLower(strings.TrimSpace(text))
}

func hashed(data []byte, mediaType string) string {
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:]) + ";" + mediaType
}
