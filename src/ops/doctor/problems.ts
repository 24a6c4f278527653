import { adviceText, type Problem } from '../health/problem.ts'
import { judgeNow } from '../status/status.ts'
import { bad, type DoctorParts, type Finding } from './finding.ts'

/**
 * @returns problems that `status` shows about an account or a destination.
 * Omits problems without a headline, such as stored alarms.
 * Omits `identity_unknown`, because `doctor` itself asks the service for the owner of the credentials.
 * @param about the account or destination, such as `account acme`.
 */
export async function checkProblems(
  { db, config, showFix }: Pick<DoctorParts, 'db' | 'config' | 'showFix'>,
  about: string,
  isAbout: (problem: Problem) => boolean,
): Promise<Finding[]> {
  if (db === null) return []
  const { judgement } = await judgeNow(db, config)
  const found = judgement.problems.filter((each) => isAbout(each) && each.headline !== undefined && each.name !== 'identity_unknown')
  return await Promise.all(found.map(async (each) => bad(about, withoutName(await adviceText(each, showFix), about))))
}

/**
 * Removes the first `about` from the text, because the finding shows `about` anyway.
 * Keeps later occurrences, because these are parts of commands.
 */
function withoutName(text: string, about: string): string {
  const at = text.indexOf(`${about} `)
  if (at < 0) return text
  return `${text.slice(0, at).replace(/\bfor $/, '')}${text.slice(at + about.length + 1)}`
}
