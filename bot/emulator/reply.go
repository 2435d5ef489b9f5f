package emulator

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
)

// apiError is a refusal as the Bot API words it.
type apiError struct {
	code        int
	description string
	retryAfter  int   // seconds
	migrateTo   int64 // the supergroup's chat id
}

// prefixed words an error as the server does: the code's prefix, then the message with its first letter in lower case
// unless the second is '_' or a capital, as in the codes that Telegram passes through.
func prefixed(code int, message string) *apiError {
	prefix := map[int]string{
		http.StatusBadRequest:          "Bad Request",
		http.StatusUnauthorized:        "Unauthorized",
		http.StatusForbidden:           "Forbidden",
		http.StatusInternalServerError: "Internal Server Error",
	}[code]
	if len(message) < 2 || message[1] != '_' && (message[1] < 'A' || message[1] > 'Z') {
		message = strings.ToLower(message[:1]) + message[1:]
	}
	return &apiError{code: code, description: prefix + ": " + message}
}

func badRequest(message string) *apiError { return prefixed(http.StatusBadRequest, message) }

func badRequestf(format string, args ...any) *apiError {
	return badRequest(fmt.Sprintf(format, args...))
}

func forbidden(message string) *apiError { return prefixed(http.StatusForbidden, message) }

func conflict(message string) *apiError {
	return &apiError{code: http.StatusConflict, description: "Conflict: " + message}
}

func tooManyRequests(seconds int) *apiError {
	return &apiError{
		code:        http.StatusTooManyRequests,
		description: "Too Many Requests: retry after " + strconv.Itoa(seconds),
		retryAfter:  seconds,
	}
}

func writeError(w http.ResponseWriter, e *apiError) {
	type parameters struct {
		RetryAfter int   `json:"retry_after,omitempty"`
		MigrateTo  int64 `json:"migrate_to_chat_id,omitempty"`
	}
	body := struct {
		OK          bool        `json:"ok"`
		Code        int         `json:"error_code"`
		Description string      `json:"description"`
		Parameters  *parameters `json:"parameters,omitempty"`
	}{Code: e.code, Description: e.description}
	if e.retryAfter != 0 || e.migrateTo != 0 {
		body.Parameters = &parameters{e.retryAfter, e.migrateTo}
	}
	if e.retryAfter != 0 {
		w.Header().Set("Retry-After", strconv.Itoa(e.retryAfter))
	}
	raw, _ := json.Marshal(body) // plain fields always encode
	writeJSON(w, e.code, raw)
}

func writeJSON(w http.ResponseWriter, code int, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(code)
	_, _ = w.Write(body) // the client is gone: nobody is left to tell
}
