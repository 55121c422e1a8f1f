package chat

import (
	"strconv"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// tools reads what the model may call.
func (r *reader) tools() *wire.Problem {
	v := r.facts.Value("tools")
	if v.Given() && v.Kind() != '[' {
		return wire.Malformed("tools", "a list of tools")
	}
	for each := v.Each(); each.Next(); {
		at := "tools[" + strconv.Itoa(len(r.d.Tools)) + "]"
		if len(r.d.Tools) == wire.MaxDialogTools {
			return wire.Malformed("tools", "a list of at most "+strconv.Itoa(wire.MaxDialogTools)+" tools")
		}
		tool, p := readTool(at, each.Value())
		if p != nil {
			return p
		}
		r.d.Tools = append(r.d.Tools, tool)
	}
	parallel, p := r.facts.Flag("parallel_tool_calls")
	r.d.Parallel = parallel
	return p
}

func readTool(at string, v jsonedit.Value) (wire.Tool, *wire.Problem) {
	function, custom := v.Get("function"), v.Get("custom")
	var tool wire.Tool
	switch kind := v.Get("type"); {
	case kind.Is("function"):
		tool = wire.Tool{
			Name: function.Get("name").Text(), Description: function.Get("description").Text(),
			Schema: raw(function.Get("parameters")), Strict: boolean(function.Get("strict")),
		}
	case kind.Is("custom"):
		tool = wire.Tool{
			Name: custom.Get("name").Text(), Description: custom.Get("description").Text(),
			Custom: true, Grammar: raw(custom.Get("format")),
		}
	default:
		return tool, wire.Malformed(at+".type", "function or custom")
	}
	if tool.Name == "" {
		return tool, wire.Malformed(at, "a tool with a name")
	}
	if tool.Schema != nil && tool.Schema[0] != '{' {
		return tool, wire.Malformed(at+".function.parameters", "a JSON schema")
	}
	tool.Cache = raw(either(v.Get("cache_control"), function.Get("cache_control")))
	return tool, nil
}

// choice reads whether and which tool is to be called.
func (r *reader) choice() *wire.Problem {
	v := r.facts.Value("tool_choice")
	kind := v.Get("type")
	switch {
	case !v.Given():
		return nil
	case v.Is("auto"), v.Is("none"), v.Is("required"):
		r.d.Choice.Mode = v.Text()
		return nil
	case kind.Is("function"):
		return r.named(v.Get("function", "name").Text())
	case kind.Is("custom"):
		return r.named(v.Get("custom", "name").Text())
	case kind.Is("allowed_tools"):
		return r.allowed(v.Get("allowed_tools"))
	}
	return wire.Malformed("tool_choice", "auto, none, required, or an object that names a tool")
}

// named is the choice of one tool, which must be there.
func (r *reader) named(name string) *wire.Problem {
	if _, ok := r.d.Tool(name); !ok {
		return wire.Malformed("tool_choice", "the name of one of the tools")
	}
	r.d.Choice = wire.ToolChoice{Mode: "tool", Name: name}
	return nil
}

// allowed leaves only the tools that a choice allows.
func (r *reader) allowed(v jsonedit.Value) *wire.Problem {
	mode := v.Get("mode")
	if !mode.Is("auto") && !mode.Is("required") {
		return wire.Malformed("tool_choice.allowed_tools.mode", "auto or required")
	}
	allowed := make(map[string]bool, len(r.d.Tools)) // false: known, not allowed
	for _, tool := range r.d.Tools {
		allowed[tool.Name] = false
	}
	for each := v.Get("tools").Each(); each.Next(); {
		name := either(each.Value().Get("function", "name"), each.Value().Get("custom", "name")).Text()
		if _, ok := allowed[name]; !ok {
			return wire.Malformed("tool_choice.allowed_tools.tools", "a list of tools that are among the tools")
		}
		allowed[name] = true
	}
	var kept []wire.Tool
	for _, tool := range r.d.Tools {
		if allowed[tool.Name] {
			kept = append(kept, tool)
		}
	}
	r.d.Tools, r.d.Choice.Mode = kept, mode.Text()
	return nil
}
