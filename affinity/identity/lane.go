package identity

// readLanes reads who inside the session is speaking. What is not a valid id is
// ignored: a lane only keeps sub-agents from piling onto one deployment.
func (r *Resolver) readLanes(s *Signals, found [][]string) {
	s.Lane = laneID(found[r.agent])
	if thread := laneID(found[r.thread]); s.Lane == "" && thread != "" && !r.main(thread, found) {
		s.Lane, s.thread = thread, true
	}
	for i, slot := range r.parents {
		if s.ParentLane = laneID(found[slot]); s.ParentLane != "" {
			s.fromSession = i == len(r.parents)-1
			return
		}
	}
}

// main reports whether a Thread-Id is its client's own session id, and so the
// session's main thread, even where another signal names the session.
func (r *Resolver) main(thread string, found [][]string) bool {
	return thread == laneID(found[r.codex]) || thread == laneID(found[r.codexOld])
}

func laneID(values []string) string {
	if len(values) == 0 {
		return ""
	}
	id, reason := looseValue(values)
	if reason != "" {
		return ""
	}
	return id
}

// readPerson notes for whom the request is made, as a hash. Needed only where
// the session is a guess, or may continue one.
func (s *Signals) readPerson(q Request) {
	user, safety := person(q.member("user")), person(q.member("safety_identifier"))
	if user != "" || safety != "" {
		s.person = hexHash("person", user, safety)
	}
}

func person(raw []byte) string {
	if raw == nil {
		return ""
	}
	id, reason := looseID(raw)
	if reason != "" {
		return ""
	}
	return id
}
