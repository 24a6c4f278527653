import type { Schemas } from '../../api/client.ts'

/** One submission, as the route tells it whole. */
export type View = Schemas['SubmissionView']
