import { adviceText, type Problem } from '../health/problem.ts'
import { judgeNow } from '../status/status.ts'
import { bad, type DoctorParts, type Finding } from './finding.ts'

/**
 * Problems as `status` shows them, except stored alarms and the identity of credentials, which `doctor` requests from the service.
 * @param about an account or a destination.
 */
export async function checkProblems(
  { db, config, showFix }: Pick<DoctorParts, 'db' | 'config' | 'showFix'>,
  about: string,
  isAbout: (problem: Problem) => boolean,
): Promise<Finding[]> {
  if (db === null) return []
  const { judgement } = await judgeNow(db, config)
  const found = judgement.problems.filter((each) => isAbout(each) && each.headline !== undefined && each.name !== 'identity_unknown')
  return await Promise.all(
    found.map(async (each) => bad(about, (await adviceText(each, showFix)).replace(`for ${about} `, '').replace(`${about} `, ''))),
  )
}
