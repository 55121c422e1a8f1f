package catalog

// DemoKey is the caller key of the demo. Everybody knows it, so it opens
// nothing but simulated accounts.
const DemoKey = "sk-holdfast-demo"

// Demo is the configuration of somebody who has neither a key nor a network:
// three simulated accounts, each of which serves one model per protocol.
// Whoever runs the accounts listens for what their demo:// addresses stand for.
func Demo() *Document {
	doc := blank()
	for _, name := range []string{"alpha", "bravo", "charlie"} {
		doc.Connections = append(doc.Connections, Connection{
			ID: name, Provider: Simulated, BaseURL: "demo://" + name,
			Auth: Auth{Type: AuthNone}, AllowPrivateNetwork: true,
		})
	}
	group := Group{Name: "demo", Strategy: Weighted}
	for _, protocol := range []string{Chat, Responses, Messages} {
		model := "demo-" + protocol
		group.Members = append(group.Members, model)
		for _, c := range doc.Connections {
			doc.Deployments = append(doc.Deployments, Deployment{
				ID: model + "-" + c.ID, Model: model, Connection: c.ID, Protocol: protocol, Price: demoPrice(),
			})
		}
	}
	doc.Groups = []Group{group}
	doc.Keys = []Key{{ID: "demo", Key: DemoKey, User: "demo-user", Models: []string{everything}}}
	return doc
}

// demoPrice is what a large model costs, so that a cold turn shows in money.
func demoPrice() *Rates {
	read, write := 0.3, 3.75
	return &Rates{Input: 3, CachedInput: &read, CacheWrite: &write, CacheWrite1h: 6, Output: 15}
}
