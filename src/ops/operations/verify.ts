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

/** Maximum and default number of changes that one HTTP request verifies. At the terminal, there is no limit. */
const [MOST, DEFAULT] = [500, 100]

const change = record('VerifiedChange', {
  message_id: z.string(),
  account: z.string(),
  submission_id: z.string().nullable(),
  entity: z.string(),
  entity_id: z.string(),
  operation: z.string(),
  seq: z.int(),
  result: z.enum(verificationResults).exclude(['has']),
  status: z.int().nullable().describe('HTTP status of an inconclusive answer'),
  error: hidden(z.string().nullable(), (text, row: { status: number | null }) => shownOutcome(text, row.status)),
  repaired: z.boolean().describe('whether a missing change is queued again'),
})

const verified = record('DestinationVerified', {
  destination: z.string(),
  delivered: z.int().describe('selected changes that count as delivered'),
  asked: z.int(),
  has: z.int(),
  lacks: z.int(),
  differs: z.int().describe('records with other values than sent'),
  undetermined: z.int(),
  repaired: z.int().describe('missing changes queued again'),
  complete: z.boolean().describe('false if the verification ended early'),
  changes: z.array(change).describe('first changes that are missing, different or inconclusive'),
})

export const verify = operation({
  name: 'destination.verify',
  summary: 'verify that a destination has the delivered changes, and optionally send missing ones again',
  description:
    `Looks up every delivered change at the rate of the destination. Over HTTP it looks up a random sample of \`sample\` changes (default ` +
    `${DEFAULT}, at most ${MOST}). Results are in \`push_verifications\`.`,
  role: 'operator',
  http: 'POST /destinations/:name/verify',
  input: z
    .strictObject({
      name: name.describe('destination name'),
      submission_id: ofSubmission,
      sample: z.coerce.number().int().min(1).max(1_000_000).optional().describe('number of random changes'),
      since: moment.optional().describe('only changes delivered since: a date, a date-time, or an age such as `2h` or `7d`'),
      repair: z.boolean().default(false).describe('send missing changes again with the same ids'),
    })
    .refine(
      ({ submission_id, sample, since }) => [submission_id, sample, since].filter((each) => each !== undefined).length <= 1,
      'use only one of submission, sample, since',
    ),
  argument: 'name',
  output: verified,
  exit: (report) => (report.undetermined > 0 || !report.complete ? 1 : report.lacks - report.repaired + report.differs > 0 ? 3 : 0),
  run: async (c, { name: of, submission_id: submissionId, sample, since, repair }) => {
    const destination = destinationNamed(c.config, of)
    const selection = { submissionId, since: momentOf(c, since) }
    const chosen = sample ?? null
    const request = { selection, sample: c.isTerminal ? chosen : Math.min(chosen ?? DEFAULT, MOST), repair }
    const asked = { submission_id: submissionId ?? null, since: selection.since ?? null, sample: request.sample, repair }
    const { report } = await c.attempt({ action: 'destination.verify', target: of, detail: asked }, async () => {
      const report = await verifyDestination(c, destination, request)
      const { changes: _, isWhole: complete, ...counts } = report
      return { report, detail: { ...counts, complete } }
    })
    return shown(of, report)
  },
  print: (to, { destination, changes, ...report }) => {
    to.line(`Destination ${destination} ${presenceText(report)}.`)
    if (report.repaired > 0) to.line(`${pluralize(report.repaired, 'change')} queued again.`)
    if (!report.complete) to.line('The verification ended early. Try again later.')
    if (changes.length === 0) return
    to.rows(
      'Missing, different or unchecked changes',
      changes,
      ['result', 'entity', 'submission_id', 'message_id', ['reason', (each) => reasonOf(each)]],
      '',
    )
    const left = report.lacks + report.differs + report.undetermined - changes.length
    if (left > 0) to.line(`${left} more are in push_verifications.`)
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
  return repaired ? 'queued again' : error && printableLine(error)
}
