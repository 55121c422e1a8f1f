package e2e

import "testing"

// billed is an event as far as it is about a job.
type billed struct {
	booked
	Task *struct {
		Kind, ID   string
		Succeeded  bool
		Parameters map[string]string
	}
}

// TestVideoLedger shows that a video's success is one event of the ledger, with what
// prices it, and that asking about it costs nothing; counts neither.
func TestVideoLedger(t *testing.T) {
	t.Parallel()
	r := newAdminRig(t, "memory", withVideos)
	made := film(t, r.URL, "s")
	id := made.field("id").(string)
	exchanges := 1
	for range 3 {
		call(t, "GET", r.URL+"/v1/videos/"+id, keyA)
		call(t, "GET", r.URL+"/v1/videos/"+id+"/content", keyA)
		exchanges += 2
	}
	remix := post(t, r.URL+"/v1/videos/"+id+"/remix", `{"prompt":"again"}`)
	call(t, "DELETE", r.URL+"/v1/videos/"+remix.field("id").(string), keyA)
	call(t, "GET", r.URL+"/v1/videos", keyA)
	counted(t, r.URL, "messages", "t", user(long(200)))
	exchanges += 4
	events(t, r.URL, exchanges+1)
	successes, begun := 0, 0
	for _, e := range paged[billed](t, r.URL+"/admin/audit/log?limit=200") {
		if e.Task == nil || !e.Task.Succeeded {
			if e.Cost == nil || e.Cost.Total != 0 || e.Usage == nil || e.Usage.Input != 0 {
				t.Errorf("%s costs %+v, used %+v", e.Endpoint, e.Cost, e.Usage)
			}
			if e.Task != nil && e.Task.ID != "" && e.Endpoint == "videos" && e.Task.Parameters["seconds"] == "8" {
				begun++
			}
			continue
		}
		successes++
		if e.Task.Kind != "video" || e.Task.ID != id || e.Cost != nil || e.Usage != nil || e.Model != "film" || e.Deployment != made.deployment() ||
			e.Task.Parameters["seconds"] != "8" || e.Task.Parameters["size"] != "720x1280" || e.Task.Parameters["upstream_model"] != "sora-2" {
			t.Errorf("the success is booked as %+v with %+v", e.booked, e.Task)
		}
	}
	if successes != 1 || begun < 2 {
		t.Errorf("%d successes, %d beginnings", successes, begun)
	}
}
