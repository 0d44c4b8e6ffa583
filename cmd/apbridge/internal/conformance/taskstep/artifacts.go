package taskstep

import (
	"bytes"
	"mime/multipart"
	"net/http"

	"github.com/apbridge/apbridge/cmd/apbridge/internal/conformance/check"
)

const (
	artifactsOf = tasks + "/{task_id}/artifacts"
	artifactOf  = artifactsOf + "/{artifact_id}"
	// The uploaded file is not valid UTF-8, to detect a server that treats it as text.
	fileName, fileFolder = "checked.bin", "given"
	fileBytes            = "checked\x00\xff\r\n"
)

func (s *v1Suite) send(t *check.Talk) check.Answer {
	a := t.Send(upload(s.aTask(t))).Is(http.StatusOK).Fits(artifact)
	a.ID("artifact_id")
	return a
}

func (s *v1Suite) anUpload(t *check.Talk) check.Answer {
	return s.upload.Need(t, "artifact", s.send)
}

// upload sends its parts in the order of AutoGPT's client.
func upload(task string) check.Request {
	var body bytes.Buffer
	form := multipart.NewWriter(&body)
	_ = form.WriteField("relative_path", fileFolder) // a buffer never fails
	part, _ := form.CreateFormFile("file", fileName)
	_, _ = part.Write([]byte(fileBytes))
	_ = form.Close()
	return check.Request{Method: http.MethodPost, Path: tasks + "/" + task + "/artifacts", Type: form.FormDataContentType(), Body: body.String()}
}

func (s *v1Suite) artifactChecks() []check.Check {
	return append([]check.Check{
		{ID: "v1.artifact.upload", Level: check.Must, Says: "Uploading a file returns an Artifact.", Cites: v1Doc.At("POST " + artifactsOf + ", 200; schema Artifact"),
			Run: func(t *check.Talk) { s.upload.Own(t, s.send) }},
		{ID: "v1.artifact.upload.name", Level: check.Must, Says: "An uploaded file keeps its name and is not marked as created by the agent.", Cites: v1Doc.At("schema Artifact, file_name and agent_created"),
			Run: func(t *check.Talk) {
				a := s.anUpload(t).In(t)
				if t.Over() {
					return
				}
				if a.Text("file_name") != fileName || a.At("agent_created") != false {
					t.Fail("file_name is %q and agent_created %v", a.Text("file_name"), a.At("agent_created"))
				}
			}},
		{ID: "v1.artifact.upload.path", Level: check.Should, Says: "An uploaded file keeps its relative_path.", Cites: v1Doc.At("schemas ArtifactUpload and Artifact, relative_path"),
			Run: func(t *check.Talk) {
				a := s.anUpload(t).In(t)
				if path := a.Text("relative_path"); !t.Over() && path != fileFolder && path != fileFolder+"/" && path != fileFolder+"/"+fileName {
					t.Fail("relative_path is %q, not %q", path, fileFolder)
				}
			}},
		{ID: "v1.artifact.upload.unknown", Level: check.Must, Says: "An upload to an unknown task returns 404 with a message.", Cites: v1Doc.At("POST " + artifactsOf + ", 404; response NotFound"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				t.Send(upload(nobody)).Is(http.StatusNotFound).Fits(notFound)
			}},
		{ID: "v1.artifact.download", Level: check.Must, Says: "A downloaded file has the bytes that were uploaded.", Cites: v1Doc.At("GET " + artifactOf + ", 200"),
			Run: func(t *check.Talk) {
				if a := s.download(t); !t.Over() && string(a.Body) != fileBytes {
					t.Fail("the %d bytes received differ from the %d sent", len(a.Body), len(fileBytes))
				}
			}},
		{ID: "v1.artifact.download.type", Level: check.Must, Says: "A file is served as application/octet-stream.", Cites: v1Doc.At("GET " + artifactOf + ", 200, content"),
			Run: func(t *check.Talk) { s.download(t).Typed("application/octet-stream") }},
	}, s.artifactReadChecks()...)
}

func (s *v1Suite) download(t *check.Talk) check.Answer {
	up := s.anUpload(t).In(t)
	if t.Over() {
		return up
	}
	return t.Get(tasks + "/" + s.aTask(t) + "/artifacts/" + up.Text("artifact_id")).Is(http.StatusOK)
}

func (s *v1Suite) artifactReadChecks() []check.Check {
	return []check.Check{
		{ID: "v1.artifact.download.unknown", Level: check.Must, Says: "Downloading an unknown artifact returns 404 with a message.", Cites: v1Doc.At("GET " + artifactOf + ", 404; response NotFound"),
			Run: func(t *check.Talk) {
				t.Get(tasks + "/" + s.aTask(t) + "/artifacts/" + nobody).Is(http.StatusNotFound).Fits(notFound)
			}},
		{ID: "v1.artifact.list", Level: check.Must, Says: "Listing a task's artifacts returns them with pagination.", Cites: v1Doc.At("GET " + artifactsOf + ", 200; schema TaskArtifactsListResponse"),
			Run: func(t *check.Talk) {
				up := s.anUpload(t).In(t)
				a := t.Get(tasks + "/" + s.aTask(t) + "/artifacts").Is(http.StatusOK).Fits(page("artifacts", named("artifact_id")))
				if !t.Over() && !check.Holds(a.List("artifacts"), "artifact_id", up.Text("artifact_id")) {
					t.Fail("the uploaded artifact is not in the list")
				}
			}},
		{ID: "v1.artifact.list.unknown", Level: check.Must, Says: "Listing the artifacts of an unknown task returns 404 with a message.", Cites: v1Doc.At("GET " + artifactsOf + ", 404; response NotFound"),
			Run: func(t *check.Talk) {
				s.aTask(t)
				t.Get(tasks + "/" + nobody + "/artifacts").Is(http.StatusNotFound).Fits(notFound)
			}},
		{ID: "v1.artifact.made", Level: check.Must, Says: "Files created by a step can be downloaded.", Cites: v1Doc.At("schema Step, artifacts; GET " + artifactOf + ", 200"), Run: s.madeFiles},
	}
}

func (s *v1Suite) madeFiles(t *check.Talk) {
	d := s.aDrive(t)
	found := 0
	for _, a := range d.steps {
		for _, file := range a.In(t).List("artifacts") {
			found++
			t.Get(tasks + "/" + d.task + "/artifacts/" + check.TextAt(file, "artifact_id")).Is(http.StatusOK)
		}
	}
	if found == 0 {
		t.Skip("the agent created no file")
	}
}
