package stepping

// mostGuesses is how often one question of a task is answered by default while its client says nothing. What an agent
// asks again after it has worked on may be meant, as an approval of the same command is; for ever it is not.
const mostGuesses = 10

// exhaustedQuestions are those that are not answered by default once more, if now text is: those that were, in a row of
// such answers, as often as may be. An agent that asks two questions in turns is stopped so, too.
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
