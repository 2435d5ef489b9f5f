package tools_test

import "nod/approvals"

func question(in penArgs) approvals.Question {
	return approvals.Question{Title: "A question", Text: in.Text, Options: []string{"yes", "no"}}
}
