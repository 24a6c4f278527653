import { ACCOUNT } from './checks.ts'
import type { CrashRig } from './rig.ts'

/** Adds a submission with history that no delivery reports, and changes that several deliveries report. @returns its id. */
export function addWork(rig: CrashRig): string {
  const { sandbox } = rig
  const id = sandbox.addSubmission(ACCOUNT)
  rig.touched.add(id)
  const { rail } = sandbox.addLane(ACCOUNT, id)
  const lane_id = rail.submission_market_id
  const quiet = { quiet: true }
  sandbox.addEvents(
    ACCOUNT,
    id,
    ['market_attached', 'status_changed', 'status_changed', 'blocked'].map((type) => ({ type, lane_id })),
    quiet,
  )
  for (const n of [1, 2, 3])
    sandbox.addMessage(ACCOUNT, id, { body_text: `history ${n}`, attachments: [{ name: 'a.pdf', download_path: null }] }, quiet)
  addNews(rig, id, lane_id)
  return id
}

export function addNews(rig: CrashRig, id: string, laneId: string | null = null): void {
  const { sandbox } = rig
  rig.touched.add(id)
  sandbox.setFacts(ACCOUNT, id, { marketing_hint: `news ${sandbox.stats().deliveries.queued}` })
  sandbox.addEvents(ACCOUNT, id, [
    { type: 'quote_received', lane_id: laneId },
    { type: 'status_changed', lane_id: laneId },
  ])
  sandbox.addMessage(ACCOUNT, id, { body_text: 'Your quote is here.' })
  sandbox.addEvent(ACCOUNT, id, { type: 'bound', lane_id: laneId })
  sandbox.addMessage(ACCOUNT, id, { body_text: 'It is bound.' })
}
