package messages

import (
	"strconv"

	"holdfast/functions/internal/wire"
	"holdfast/functions/internal/wire/jsonedit"
)

// tools reads what the model may call. Tools that the provider has made are
// known to its models only: they are left out and noted by their kind.
func (r *reader) tools() *wire.Problem {
	v := r.facts.Value("tools")
	if v.Given() && v.Kind() != '[' {
		return wire.Malformed("tools", "a list of tools")
	}
	index := 0
	for each := v.Each(); each.Next(); index++ {
		at, tool := "tools["+strconv.Itoa(index)+"]", each.Value()
		if index == wire.MaxDialogTools {
			return wire.Malformed("tools", "a list of at most "+strconv.Itoa(wire.MaxDialogTools)+" tools")
		}
		if kind := tool.Get("type"); kind.Given() && !kind.Is("custom") {
			r.drop("tools." + kind.Head(48))
			continue
		}
		schema := tool.Get("input_schema")
		if tool.Get("name").Len() == 0 || schema.Given() && schema.Kind() != '{' {
			return wire.Malformed(at, "a tool with a name and a JSON schema of its input")
		}
		read := wire.Tool{
			Name: tool.Get("name").Text(), Description: tool.Get("description").Text(),
			Schema: raw(schema), Cache: raw(tool.Get("cache_control")),
		}
		if strict, ok := tool.Get("strict").Bool(); ok {
			read.Strict = &strict
		}
		r.otherMembers(tool)
		r.d.Tools = append(r.d.Tools, read)
	}
	return nil
}

// otherMembers notes what else a tool says.
func (r *reader) otherMembers(tool jsonedit.Value) {
	for each := tool.Each(); each.Next(); {
		switch name := string(each.Name()); name {
		case "type", "name", "description", "input_schema", "strict", "cache_control":
		default:
			if each.Value().Filled() {
				r.drop("tools." + name)
			}
		}
	}
}

// choice reads whether and which tool is to be called, and whether several may
// be at once.
func (r *reader) choice() *wire.Problem {
	v := r.facts.Value("tool_choice")
	if single, ok := v.Get("disable_parallel_tool_use").Bool(); ok {
		several := !single
		r.d.Parallel = &several
	}
	switch kind := v.Get("type"); {
	case !v.Given():
	case kind.Is("auto"), kind.Is("none"):
		r.d.Choice.Mode = kind.Text()
	case kind.Is("any"):
		if len(r.d.Tools) == 0 {
			return wire.Untranslatable("tool_choice", "A call of one of the provider's own tools")
		}
		r.d.Choice.Mode = "required"
	case kind.Is("tool"):
		name := v.Get("name").Text()
		if _, ok := r.d.Tool(name); !ok {
			return wire.Untranslatable("tool_choice", "A call of a tool that is not among the tools or is the provider's own")
		}
		r.d.Choice = wire.ToolChoice{Mode: "tool", Name: name}
	default:
		return wire.Malformed("tool_choice.type", "auto, any, tool or none")
	}
	return nil
}
