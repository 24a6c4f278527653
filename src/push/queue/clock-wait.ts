/** @returns what is logged of a destination whose changes wait because nobody may say now that they are too old. */
export function waitsForClocks(name: string): string {
  return `changes for destination ${name} wait: by the clock of this machine they are older than its max_age, but the clocks disagree; \`submission-mirror doctor\` compares them`
}
