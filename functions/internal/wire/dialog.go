package wire

import "encoding/json"

// Dialog is a request in the one neutral form: what a client of one protocol
// asked for, so that a deployment of another can be asked the same. Only a
// bridge decodes a body into it.
//
// Zero values mean "not said". What a codec cannot put into this form it notes
// in Dropped, by the client's name for it, or refuses where leaving it out
// would change the meaning.
type Dialog struct {
	Client   Protocol // that the client speaks; set by ReadDialog
	Model    string   // as the upstream is to see it
	Provider string   // of the deployment, as the catalog names its preset; "" where not known
	Stream   bool
	Messages []Message // in the client's order, system and developer ones in place
	Tools    []Tool
	Choice   ToolChoice
	Parallel *bool // may the model call several tools at once

	MaxTokens        int64
	Temperature      *float64
	TopP             *float64
	TopK             *int64
	Seed             *int64
	PresencePenalty  *float64
	FrequencyPenalty *float64
	Stop             []string

	Effort         string  // of reasoning: none, minimal, low, medium, high, xhigh, max
	ThinkingBudget int64   // tokens; 0: not said
	ThinkingOff    bool    // the client said that it wants none
	ThinkingAuto   bool    // the client left it to the model how much
	Summary        string  // of reasoning: auto, concise, detailed
	Verbosity      string  // low, medium, high
	Format         *Format // of the answer's text; nil: plain

	User     string          // the end user, as the client names it
	Metadata json.RawMessage // an object of strings
	CacheKey string          // prompt_cache_key
	Tier     string          // service_tier

	Dropped []string // members that the target will not see, in the client's words
}

// Role says who speaks in a Message.
type Role string

// The roles. Tool results stand in messages of the Tool role.
const (
	System    Role = "system"
	Developer Role = "developer"
	User      Role = "user"
	Assistant Role = "assistant"
	ToolRole  Role = "tool"
)

// Message is one turn's part of a Dialog.
type Message struct {
	Role  Role
	Name  string // of the speaker, where the client gave one
	Parts []Part
}

// PartKind says what a Part is.
type PartKind uint8

// The kinds of parts.
const (
	Text       PartKind = iota // Part.Text
	Image                      // Part.Media
	Document                   // Part.Media
	Audio                      // Part.Media
	ToolCall                   // Part.CallID, Name, Arguments
	ToolResult                 // Part.CallID, Result, IsError
	Reasoning                  // Part.Text, Signature, Sealed
	Refusal                    // Part.Text
)

// Part is one piece of a message or of an answer.
type Part struct {
	Kind PartKind
	Text string

	Media *Media

	CallID    string
	Name      string // of the tool
	Arguments string // JSON as the model wrote it; of a custom tool, free text
	Custom    bool   // a free-text tool
	Result    []Part // Text, Image and Document parts
	IsError   bool

	Signature string // over a thinking block: valid at its provider only
	Sealed    string // encrypted reasoning: redacted_thinking's data, encrypted_content
	Summary   bool   // Reasoning: a summary, not the reasoning itself

	Cache json.RawMessage // cache_control as the client placed it; nil without
}

// Media is an image, a document or a sound: by URL, by file id, or inline.
type Media struct {
	Type   string // MIME type; "" where unknown
	URL    string // http(s) reference
	Data   string // base64, standard alphabet
	FileID string // at the provider
	Name   string // file name or title
	Detail string // low, high, auto
	Text   string // a plain-text document's own text
}

// Tool is a function that the model may call.
type Tool struct {
	Name        string
	Description string
	Schema      json.RawMessage // JSON Schema of the arguments; nil: none
	Strict      *bool
	Custom      bool            // takes free text
	Grammar     json.RawMessage // of a custom tool's text, as the client gave it
	Cache       json.RawMessage
}

// ToolChoice says whether and which tool is to be called.
type ToolChoice struct {
	Mode string // "": not said; auto, none, required, tool
	Name string // with tool
}

// Format asks for JSON.
type Format struct {
	Name        string
	Description string
	Schema      json.RawMessage // nil: any JSON object
	Strict      *bool
}

// Reply is a whole answer in the neutral form.
type Reply struct {
	ID       string // the gateway's own, fit for the client's protocol
	Model    string // as the client asked for it
	Created  int64  // Unix seconds
	Parts    []Part // Text, Reasoning, ToolCall, Refusal, in order
	Stop     Stop
	StopText string // the stop sequence that ended it
	Usage    Usage
	HasUsage bool
}

// Stop says why an answer ended.
type Stop string

// The reasons. The empty Stop is an answer that has not said why it ended.
const (
	StopEnd      Stop = "end"
	StopLength   Stop = "length"
	StopTool     Stop = "tool"
	StopSequence Stop = "sequence"
	StopFilter   Stop = "filter" // the provider's policy
	StopRefusal  Stop = "refusal"
	StopPause    Stop = "pause" // the turn goes on with the next request
)

// DeltaKind says what a Delta is.
type DeltaKind uint8

// The kinds of deltas. Between PartBegin and PartEnd of one index only deltas
// of that part carry it; parts begin in order and several may be open.
const (
	ReplyBegin DeltaKind = iota // ID, Model, Usage where known
	PartBegin                   // Index, Part (kind, call id, name)
	PartDelta                   // Index, Text: text, reasoning, arguments or refusal by the part's kind
	PartSeal                    // Index, Part.Signature or Part.Sealed
	PartEnd                     // Index
	ReplyStop                   // Stop, StopText
	ReplyUsage                  // Usage: what is known by now, the later one wins
	ReplyEnd                    // the terminal event: the answer is whole
)

// Delta is one step of a streamed answer in the neutral form.
type Delta struct {
	Kind     DeltaKind
	Index    int
	Text     string
	Part     Part
	ID       string
	Model    string
	Stop     Stop
	StopText string
	Usage    Usage
}
