import { refuseUnknownNames } from '../actions/names.ts'
import { submissionsPage } from '../actions/submissions-page.ts'
import { ConflictError, NotFoundError } from '../output/refusals.ts'
import { printableLine } from '../output/text.ts'
import type { OpenStore } from './commands/context.ts'

/** Submissions that are named where several could be meant. */
const MOST_NAMED = 10

/**
 * The one submission whose id begins so, or whose insured is named by these words.
 * @throws NotFoundError when there is none, ConflictError with those that could be meant when there are several.
 */
export async function submissionNamed(
  { db, config }: Pick<OpenStore, 'db' | 'config'>,
  text: string,
  account: string | undefined,
): Promise<{ readonly account: string; readonly submission_id: string }> {
  await refuseUnknownNames(db.read, config, { account })
  const { items, next } = await submissionsPage(db.read, { named: text, account, order: 'name', limit: MOST_NAMED })
  const [one, ...others] = items
  const given = JSON.stringify(printableLine(text))
  if (one === undefined)
    throw new NotFoundError([
      `there is no submission whose id begins with ${given}, or whose insured is called that; \`submission list\` lists them`,
    ])
  if (others.length === 0) return one
  throw new ConflictError([
    `${given} may be ${next === null ? items.length : `more than ${MOST_NAMED}`} submissions; give more of it, or the id of one:`,
    ...items.map((each) => `  ${each.submission_id}  ${printableLine(each.insured_name ?? 'without a name')} (account ${each.account})`),
  ])
}
