import { entity, type RowOf } from '../entity.ts'
import { account, goneFrom, keyId, laneId, submissionId } from './common.ts'

export const sourceOffers = entity({
  table: 'source_offers',
  holds: 'Documents as the carrier made them, by lane. The files themselves are in `documents`, with the origin `carrier_original`.',
  read: 'requirements',
  parent: 'lanes',
  key: ['account', 'submission_id', 'lane_id', 'presentation_id'],
  fields: {
    account,
    submission_id: submissionId,
    lane_id: laneId,
    presentation_id: keyId('rail.lanes[].source_offers[].presentation_id'),
    kind: { kind: 'text', class: 'business', meaning: 'so far `quote`, `indication`' },
    label: { kind: 'text', class: 'business', meaning: 'what the service calls it' },
    document_url: {
      kind: 'text',
      class: 'document',
      meaning: 'as the newest answer gives it; it may be on another host',
      link: true,
    },
    filename: { kind: 'text', class: 'free', shown: true, meaning: "the file's name" },
    gone_at: goneFrom('the lane'),
    raw: { kind: 'raw', class: 'free', source: 'the whole offer', meaning: 'the offer as it came' },
  },
})

export type SourceOfferRow = RowOf<typeof sourceOffers>
