import { entity } from '../../src/model/entity.ts'
import type { StateRead } from '../../src/model/reads.ts'
import type { View } from '../../src/model/view.ts'
import type { Migration } from '../../src/store/schema/migration.ts'

/** A table that the service does not have, of a read that it does not have either: keyed by an id of its own, and without `raw`. */
export const gadgets = entity({
  table: 'gadgets',
  holds: 'What hangs on the keys of the insured.',
  // A real one adds its name to the type.
  read: 'gadgets' as string as StateRead,
  key: ['account', 'gadget_id'],
  fields: {
    account: { kind: 'text', class: 'none', source: 'settings', meaning: 'whose it is' },
    gadget_id: { kind: 'text', class: 'none', source: '`id`', meaning: 'its id' },
    submission_id: { kind: 'text', class: 'none', source: 'path', meaning: 'its submission' },
    weight: { kind: 'real', class: 'business', source: '`weight`', meaning: 'in pounds' },
    value: { kind: 'json', class: 'business', source: '`value`', meaning: 'whatever it is' },
    owner: { kind: 'text', class: 'personal', source: '`owner`', meaning: 'whose key it is' },
    owner_tin: { kind: 'text', class: 'tax id', source: '`owner_tin`', meaning: 'the tax id of that person' },
    shown_at: { kind: 'time', class: 'none', source: '`shown_at`', meaning: 'when the service looked', volatile: true },
    gone_at: { kind: 'time', class: 'none', source: 'program', meaning: 'since when it is not shown', local: true },
  },
})

export const addGadgets: Migration = {
  version: 9_000,
  name: 'gadgets',
  oldestCompatible: 1,
  statements: (t) => [
    `create table gadgets (account text not null, gadget_id text not null, submission_id text not null, weight ${t.real}, value ${t.json},
      owner text, owner_tin text, shown_at ${t.time}, gone_at ${t.time}, primary key (account, gadget_id))`,
    'create index gadgets_submission on gadgets (account, submission_id)',
  ],
}

/** The view of a read that shows gadgets. @param whole whether all of its list could be read. */
export function gadgetView(shownAt: string, weights: Readonly<Record<string, number>>, whole = true): View {
  const rows = Object.entries(weights).map(([gadget_id, weight]) => {
    return { gadget_id, weight, value: { deep: [gadget_id] }, owner: 'Jane Doe', owner_tin: '12-3456789', shown_at: shownAt }
  })
  return { submission: null, lists: [{ table: 'gadgets', of: {}, rows, whole }], unreadable: [] }
}
