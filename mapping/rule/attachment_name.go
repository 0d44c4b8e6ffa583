package rule

import (
	"path"
	"regexp"
	"strconv"
	"strings"
)

// fileName returns the clean name of a file in a message: the last part of the name that was sent, if that can be a
// path, or one made from the message's id and the media type.
func fileName(sent, messageID, mediaType string) string {
	name := path.Base(strings.ReplaceAll(sent, `\`, "/"))
	if clean, err := CleanPath(name); err == nil && len(clean) <= maxFileName && !strings.HasPrefix(clean, "-") {
		return clean
	}
	made := extensionOf(mediaType)
	if clean, err := CleanPath(messageID + made); err == nil && plainID.MatchString(messageID) {
		return clean
	}
	return "attachment" + made
}

// maxFileName leaves room for a number within the 255 bytes of file systems.
const maxFileName = 240

// plainID matches ids that are good names.
var plainID = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9_-]{0,63}$`)

// extensions lists the media types whose extension is not their subtype.
var extensions = map[string]string{
	"image/jpeg": ".jpg", "image/svg+xml": ".svg", "image/x-icon": ".ico", "text/plain": ".txt", "text/markdown": ".md", "text/javascript": ".js",
	"audio/mpeg": ".mp3", "audio/x-wav": ".wav", "audio/mp4": ".m4a", "video/quicktime": ".mov", "application/msword": ".doc",
	"application/vnd.ms-excel": ".xls", "application/vnd.ms-powerpoint": ".ppt",
	"application/vnd.openxmlformats-officedocument.wordprocessingml.document":   ".docx",
	"application/vnd.openxmlformats-officedocument.spreadsheetml.sheet":         ".xlsx",
	"application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
}

var plainSubtype = regexp.MustCompile(`^[a-z0-9]{1,5}$`)

// extensionOf returns the extension for a media type. It does not use the system's table, because a name must be the
// same on every machine.
func extensionOf(mediaType string) string {
	mediaType, _, _ = strings.Cut(mediaType, ";")
	if known, ok := extensions[strings.TrimSpace(mediaType)]; ok {
		return known
	}
	if _, sub, _ := strings.Cut(mediaType, "/"); plainSubtype.MatchString(sub) {
		return "." + sub
	}
	return ".bin"
}

// Numbered returns the name of the nth of several files with the same name: "a.png", "a-2.png", "a-3.png".
func (a Attachment) Numbered(n int) string {
	if n < 2 {
		return a.Name
	}
	end := path.Ext(a.Name)
	if end == a.Name {
		end = "" // ".env"
	}
	return strings.TrimSuffix(a.Name, end) + "-" + strconv.Itoa(n) + end
}
