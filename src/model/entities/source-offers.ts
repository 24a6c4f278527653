import { entity, type RowOf } from '../entity.ts'
import { account, goneFrom, keyId, laneId, submissionId } from './common.ts'
import { raw, text } from './fields.ts'

export const sourceOffers = entity({
  table: 'source_offers',
  holds: 'Original documents of carriers, by lane. Their files are in `documents`, with the origin `carrier_original`.',
  read: 'requirements',
  parent: 'lanes',
  key: ['account', 'submission_id', 'lane_id', 'presentation_id'],
  fields: {
    account,
    submission_id: submissionId,
    lane_id: laneId,
    presentation_id: keyId('rail.lanes[].source_offers[].presentation_id'),
    kind: text('business', 'so far `quote`, `indication`'),
    label: text('business', "the service's name of it"),
    document_url: text('document', 'the newest link; it may be on another host', { link: true }),
    filename: text('free', "the file's name", { shown: true }),
    gone_at: goneFrom('the lane'),
    raw: raw('free', 'the offer as received', { source: 'the whole offer' }),
  },
})

export type SourceOfferRow = RowOf<typeof sourceOffers>
