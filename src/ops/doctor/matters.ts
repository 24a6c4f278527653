import type { Matter } from '../health/matters.ts'
import { adviceText, needOf } from '../health/verdict-text.ts'
import { judgeNow } from '../status/status.ts'
import { bad, type DoctorParts, type Finding } from './finding.ts'

/**
 * What needs a person, as `status` tells it; but for alarms, and for whose the credentials are, which the service itself is asked.
 * @param about an account or a destination.
 */
export async function checkMatters(
  { db, config, showMend }: Pick<DoctorParts, 'db' | 'config' | 'showMend'>,
  about: string,
  isAbout: (matter: Matter) => boolean,
): Promise<Finding[]> {
  if (db === null) return []
  const { judgement } = await judgeNow(db, config)
  const told = judgement.matters.filter((each) => isAbout(each) && each.kind !== 'alarm' && each.kind !== 'identity_unknown')
  return await Promise.all(
    told.map(async (each) => bad(about, adviceText(each, await showMend(needOf(each).mend)).replace(`${about} `, ''))),
  )
}
