package emulator

import "time"

func (s *Server) setWebhook(q *request) (any, *apiError) {
	url := q.text("url")
	if url == "" {
		return s.deleteWebhook(q)
	}
	if !isHTTPS(url) {
		return nil, badRequest("bad webhook: An HTTPS URL must be provided for webhook")
	}
	s.queue.setAllowed(q)
	s.queue.webhook = url
	s.dropPending(q)
	s.endPoll(conflict("terminated by setWebhook request"))
	s.note()
	return true, nil
}

func (s *Server) deleteWebhook(q *request) (any, *apiError) {
	s.queue.webhook = ""
	s.dropPending(q)
	s.note()
	return true, nil
}

func (s *Server) dropPending(q *request) {
	if q.flag("drop_pending_updates") {
		s.queue.updates = nil
	}
}

func (s *Server) getWebhookInfo(*request) (any, *apiError) {
	s.queue.expire(time.Now())
	return map[string]any{
		"url":                    s.queue.webhook,
		"has_custom_certificate": false,
		"pending_update_count":   len(s.queue.updates),
	}, nil
}

func (s *Server) getMe(*request) (any, *apiError) {
	return struct {
		User
		CanJoinGroups bool `json:"can_join_groups"`
		CanReadAll    bool `json:"can_read_all_group_messages"`
		Inline        bool `json:"supports_inline_queries"`
		HasTopics     bool `json:"has_topics_enabled"`
	}{s.bot, true, !s.opts.Privacy, false, s.opts.PrivateTopics}, nil
}
