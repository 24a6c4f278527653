import { entity } from '../entity.ts'
import { account, goneFrom, inRecord, namedBy } from './common.ts'
import { json, raw, text } from './fields.ts'

export const insureds = entity({
  table: 'insureds',
  holds:
    "Insureds: identity, contacts, and each one's submissions and policies. The spec does not show the fields, so everything is in `raw`. The " +
    'columns from `legal_name` to `contacts` are best effort: `record_fields` in the settings names their fields.',
  read: 'insured',
  key: ['account', 'insured_id'],
  fields: {
    account,
    insured_id: text('none', 'its id', { source: 'path' }),
    submission_id: namedBy,
    legal_name: text('personal', 'its name', { shown: true, source: inRecord }),
    dba_name: text('personal', 'trade name (doing business as)', { shown: true, source: inRecord }),
    entity_type: text('business', 'its legal form', { source: inRecord }),
    naics: text('business', 'NAICS code', { source: inRecord }),
    sic: text('business', 'SIC code', { source: inRecord }),
    mailing_address: json('personal', 'its address, any JSON value', { source: inRecord }),
    contacts: json('personal', 'its contacts, any JSON value', { source: inRecord }),
    gone_at: goneFrom('the service'),
    raw: raw('free', 'the answer as received', { source: 'the whole answer' }),
  },
})
