package stepping

// mostGuesses limits how often one question of a task is answered by default while its client sends no input. An agent
// may have a reason to repeat a question, such as the approval of the same command, but not forever.
const mostGuesses = 10

// exhaustedQuestions returns the questions that may not be answered by default again after the default answer to text.
// It counts the uninterrupted sequence of default answers up to now, so that it also stops an agent that alternates
// between two questions.
func (s *session) exhaustedQuestions(text string) []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	times := map[string]int{text: 1}
	for i := len(s.runs) - 1; i >= 0 && s.runs[i].Options.Guessed != ""; i-- {
		times[s.runs[i].Options.Guessed]++
	}
	var list []string
	for question, n := range times {
		if n >= mostGuesses {
			list = append(list, question)
		}
	}
	return list
}
