package tools

// What Telegram shows as a photo: at most 10 MB, width and height together at most 10000, and neither more than 20 times
// the other (Bot API, sendPhoto).
const (
	maxPhoto      = 10 << 20
	maxPhotoSides = 10_000
	maxPhotoRatio = 20
)

// FitsPhoto says whether a picture of that many pixels and bytes can be sent as a photo; else it goes as a document.
func FitsPhoto(width, height int, size int64) bool {
	long, short := max(width, height), min(width, height)
	return short > 0 && size <= maxPhoto && long+short <= maxPhotoSides && long <= maxPhotoRatio*short
}
