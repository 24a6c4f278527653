import { entity } from '../entity.ts'
import { account, goneFrom, inRecord, namedBy } from './common.ts'

export const insureds = entity({
  table: 'insureds',
  holds:
    "Insureds: identity, contacts, and the brokerage's submissions and policies of each. The specification does not show the fields, so all of it " +
    'is in `raw`. The columns from `legal_name` to `contacts` are best effort: they are looked for where `record_fields` in the settings says.',
  read: 'insured',
  key: ['account', 'insured_id'],
  fields: {
    account,
    insured_id: { kind: 'text', class: 'none', source: 'path', meaning: 'its id' },
    submission_id: namedBy,
    legal_name: { kind: 'text', class: 'personal', shown: true, source: inRecord, meaning: 'its name' },
    dba_name: { kind: 'text', class: 'personal', shown: true, source: inRecord, meaning: 'the name under which it does business' },
    entity_type: { kind: 'text', class: 'business', source: inRecord, meaning: 'its legal form' },
    naics: { kind: 'text', class: 'business', source: inRecord, meaning: 'NAICS code of its business' },
    sic: { kind: 'text', class: 'business', source: inRecord, meaning: 'SIC code of its business' },
    mailing_address: { kind: 'json', class: 'personal', source: inRecord, meaning: 'its address, any JSON value' },
    contacts: { kind: 'json', class: 'personal', source: inRecord, meaning: 'its contacts, any JSON value' },
    gone_at: goneFrom('the service'),
    raw: { kind: 'raw', class: 'free', source: 'the whole answer', meaning: 'the answer as it came' },
  },
})
