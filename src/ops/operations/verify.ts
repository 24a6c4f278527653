import { z } from 'zod'
import { shownOutcome } from '../../model/masking.ts'
import type { VerificationReport } from '../../push/verify/verification.ts'
import { verificationResults } from '../../store/schema/push.ts'
import { destinationNamed } from '../actions/names.ts'
import { record } from '../output/schema.ts'
import { pluralize, printableLine } from '../output/text.ts'
import { presenceText } from '../output/words.ts'
import { verifyDestination } from '../verify/verify-destination.ts'
import { hidden } from './hidden.ts'
import { moment, momentOf, name, ofSubmission } from './inputs.ts'
import { operation } from './operation.ts'

/** Changes that are asked for at most, and unless it is said otherwise, where somebody waits for an HTTP answer. */
const [MOST, FEW] = [500, 100]

const change = record('VerifiedChange', {
  message_id: z.string(),
  account: z.string(),
  submission_id: z.string().nullable(),
  entity: z.string(),
  entity_id: z.string(),
  operation: z.string(),
  seq: z.int(),
  result: z.enum(verificationResults).exclude(['has']),
  status: z.int().nullable().describe('of an answer that does not tell'),
  error: hidden(z.string().nullable(), (text, row: { status: number | null }) => shownOutcome(text, row.status)).describe(
    'why it cannot be told',
  ),
  repaired: z.boolean().describe('it lacked, and is queued once more'),
})

const verified = record('DestinationVerified', {
  destination: z.string(),
  delivered: z.int().describe('changes that count as delivered, of those that were chosen'),
  asked: z.int(),
  has: z.int(),
  lacks: z.int(),
  differs: z.int().describe('it has the record, but not as it was sent'),
  cannot_tell: z.int(),
  repaired: z.int().describe('of those that lacked, queued once more'),
  complete: z.boolean().describe('false: it stopped answering, or was stopped, before it was asked for all'),
  changes: z.array(change).describe('the first of those that it does not certainly have as they were sent'),
})

/** `destination verify` */
export const verify = operation({
  name: 'destination.verify',
  summary: 'ask a destination whether it has what it took, and send again what it lacks',
  description:
    `Every change that counts as delivered is asked for, at the rate of the destination; by HTTP ${FEW} by chance, or as many as \`sample\` ` +
    `says, at most ${MOST}. Answers stand in \`push_verifications\`.`,
  role: 'operator',
  http: 'POST /destinations/:name/verify',
  input: z
    .strictObject({
      name: name.describe('of the destination'),
      submission_id: ofSubmission,
      sample: z.coerce.number().int().min(1).max(1_000_000).optional().describe('so many changes, chosen by chance'),
      since: moment.optional().describe('only changes delivered since: a date, a date-time, or how long ago (`2h`, `7d`)'),
      repair: z.boolean().default(false).describe('send what lacks again, under the same ids'),
    })
    .refine(
      ({ submission_id, sample, since }) => [submission_id, sample, since].filter((each) => each !== undefined).length <= 1,
      'say only one of submission, sample, since',
    ),
  argument: 'name',
  output: verified,
  exit: (report) => (report.cannot_tell > 0 || !report.complete ? 1 : report.lacks - report.repaired + report.differs > 0 ? 3 : 0),
  run: async (c, { name: of, submission_id: submissionId, sample, since, repair }) => {
    const destination = destinationNamed(c.config, of)
    const selection = { submissionId, since: momentOf(c, since) }
    const chosen = sample ?? null
    const request = { selection, sample: c.isTerminal ? chosen : Math.min(chosen ?? FEW, MOST), repair }
    const asked = { submission_id: submissionId ?? null, since: selection.since ?? null, sample: request.sample, repair }
    const { report } = await c.attempt({ action: 'destination.verify', target: of, detail: asked }, async () => {
      const report = await verifyDestination(c, destination, request)
      const { changes: _, isWhole: complete, ...counts } = report
      return { report, detail: { ...counts, complete } }
    })
    return shown(of, report)
  },
  print: (to, { destination, changes, ...report }) => {
    to.line(`destination ${destination} ${presenceText(report)}`)
    if (report.repaired > 0) to.line(`${pluralize(report.repaired, 'change')} queued once more`)
    if (!report.complete) to.line('it stopped answering, or was stopped; ask again later')
    if (changes.length === 0) return
    to.rows('Not as sent', changes, ['result', 'entity', 'submission_id', 'message_id', ['reason', (each) => reasonOf(each)]], '')
    const left = report.lacks + report.differs + report.cannot_tell - changes.length
    if (left > 0) to.line(`and ${pluralize(left, 'more')}: see push_verifications`)
  },
})

function shown(destination: string, { changes, isWhole, ...counts }: VerificationReport) {
  return {
    destination,
    ...counts,
    complete: isWhole,
    changes: changes.map(({ row, result, status, error, isRepaired }) => ({
      message_id: row.messageId,
      account: row.account,
      submission_id: row.submissionId,
      entity: row.entity,
      entity_id: row.entityId,
      operation: row.operation,
      seq: row.seq,
      result,
      status,
      error,
      repaired: isRepaired,
    })),
  }
}

function reasonOf({ error, repaired }: z.output<typeof change>): string | null {
  return repaired ? 'queued once more' : error && printableLine(error)
}
