package wirefault

import (
	"maps"
	"net/http"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"holdfast/infra/table"
)

// call is one request as it came.
type call struct {
	Request
	http            *http.Request
	operationHeader string
	body            []byte
	input           input
}

// input holds the members of a request that the front looks at.
type input struct {
	TableName    string
	RequestItems map[string]batch
	Item         map[string]jsontext.Value
	Key          jsontext.Value
	OnFailure    string `json:"ReturnValuesOnConditionCheckFailure"`
}

// batch is one table's share of a BatchGetItem.
type batch struct {
	Keys []jsontext.Value
	Rest map[string]jsontext.Value `json:",embed"`
}

func parse(r *http.Request, body []byte) call {
	c := call{http: r, operationHeader: r.Header.Get(targetHeader), body: body}
	_, c.Operation, _ = strings.Cut(c.operationHeader, ".")
	if json.Unmarshal(body, &c.input) != nil {
		c.input = input{} // the server behind will say what is wrong with it
	}
	c.Tables = slices.Sorted(maps.Keys(c.input.RequestItems))
	if c.input.TableName != "" {
		c.Tables = append(c.Tables, c.input.TableName)
	}
	return c
}

// key returns the key that a write addresses, as GetItem takes it.
func (c call) key() (jsontext.Value, error) {
	if c.input.Key != nil {
		return c.input.Key, nil
	}
	return json.Marshal(map[string]jsontext.Value{
		table.PartitionKey: c.input.Item[table.PartitionKey],
		table.SortKey:      c.input.Item[table.SortKey],
	})
}

// treatItem adds to a failed condition the item that made it fail, where it was
// asked for, or takes it away. An added item is read right afterwards, so under
// a race it may be a later one; never an earlier one.
func (f *Front) treatItem(c call, a answer) answer {
	var failure map[string]jsontext.Value
	if a.status != http.StatusBadRequest || json.Unmarshal(a.body, &failure) != nil ||
		!strings.Contains(string(failure["__type"]), "#ConditionalCheckFailedException") {
		return a
	}
	_, has := failure["Item"]
	switch {
	case f.items == Withheld && has:
		delete(failure, "Item")
		return a.replaced(failure)
	case f.items == Returned && !has && c.input.OnFailure == "ALL_OLD":
		if failure["Item"] = f.standing(c); failure["Item"] != nil {
			return a.replaced(failure)
		}
	}
	return a
}

// standing reads the item that a write addresses; nil where there is none.
func (f *Front) standing(c call) jsontext.Value {
	key, err := c.key()
	if err != nil {
		return nil
	}
	get, err := json.Marshal(map[string]any{"TableName": c.input.TableName, "Key": key, "ConsistentRead": true})
	if err != nil {
		return nil
	}
	a := f.send(c, "DynamoDB_20120810.GetItem", get)
	var output struct{ Item jsontext.Value }
	if a.status != http.StatusOK || json.Unmarshal(a.body, &output) != nil {
		return nil
	}
	return output.Item
}

// servePartial forwards the first half of a batch's keys and gives the others
// back as unprocessed. Other operations pass.
func (f *Front) servePartial(w http.ResponseWriter, c call) {
	if c.Operation != "BatchGetItem" {
		pass(w, f.forward(c))
		return
	}
	served, left := split(c.Tables, c.input.RequestItems)
	output := map[string]any{"Responses": map[string]any{}, "UnprocessedKeys": left}
	a := answer{status: http.StatusOK, header: http.Header{"Content-Type": {contentType}}}
	if len(served) > 0 {
		body, err := json.Marshal(map[string]any{"RequestItems": served})
		if err != nil {
			pass(w, gatewayError())
			return
		}
		a = f.send(c, c.operationHeader, body)
		var behind struct {
			Responses       jsontext.Value
			UnprocessedKeys map[string]batch
		}
		if a.status != http.StatusOK || json.Unmarshal(a.body, &behind) != nil {
			pass(w, a)
			return
		}
		output["Responses"] = behind.Responses
		output["UnprocessedKeys"] = joined(left, behind.UnprocessedKeys)
	}
	pass(w, a.replaced(output))
}

// split halves the keys of all tables together; the odd one is left.
func split(tables []string, all map[string]batch) (served, left map[string]batch) {
	total := 0
	for _, b := range all {
		total += len(b.Keys)
	}
	served, left = map[string]batch{}, map[string]batch{}
	room := total / 2
	for _, name := range tables {
		b := all[name]
		n := min(room, len(b.Keys))
		room -= n
		if n > 0 {
			served[name] = batch{Keys: b.Keys[:n], Rest: b.Rest}
		}
		if n < len(b.Keys) {
			left[name] = batch{Keys: b.Keys[n:], Rest: b.Rest}
		}
	}
	return served, left
}

func joined(a, b map[string]batch) map[string]batch {
	for name, more := range b {
		more.Keys = append(more.Keys, a[name].Keys...)
		a[name] = more
	}
	return a
}

// replaced returns the answer with another body; its checksum then goes.
func (a answer) replaced(body any) answer {
	b, err := json.Marshal(body)
	if err != nil {
		return gatewayError()
	}
	a.header = a.header.Clone()
	a.header.Del(checksumHeader)
	a.body = b
	return a
}
