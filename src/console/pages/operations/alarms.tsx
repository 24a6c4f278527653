import { useQuery } from '@tanstack/react-query'
import { useAction } from '../../api/action.ts'
import { answered, api, type Schemas } from '../../api/client.ts'
import { alarmsQuery } from '../../api/more-queries.ts'
import { Button } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Section } from '../../parts/fields.tsx'
import { Sentence } from '../../parts/sentence.tsx'
import { Asked, Empty } from '../../parts/states.tsx'
import { type Column, Table } from '../../parts/table.tsx'
import { Age } from '../../parts/time.tsx'

type Alarm = Schemas['Alarm']

/** What fires, and what fired. */
export function Alarms() {
  const query = useQuery(alarmsQuery)
  const test = useAction({
    run: () => answered(api.POST('/api/v1/alarms/test', { body: {} })),
    done: ({ items }) =>
      items.length === 0 ? 'No operator is set who could be told.' : items.map(({ operator, text }) => `${operator}: ${text}`).join('; '),
  })
  const button = (
    <Button needs="operator" isSmall isBusy={test.isPending} onClick={() => test.mutate()}>
      Send a test message
    </Button>
  )
  return (
    <Section title="Alarms" actions={button}>
      <Asked query={query} rows={2}>
        {({ items }) =>
          items.length === 0 ? (
            <Empty>No alarm fires, and none did lately.</Empty>
          ) : (
            <Table
              label="Alarms"
              columns={columns}
              rows={items}
              keyOf={({ name, account, destination }) => `${name}/${account}/${destination}`}
            />
          )
        }
      </Asked>
    </Section>
  )
}

const columns: readonly Column<Alarm>[] = [
  {
    id: 'state',
    head: 'State',
    cell: ({ state, severity }) => (
      <Chip word={state} tone={state === 'firing' ? (severity === 'critical' ? 'bad' : 'waiting') : 'unknown'} />
    ),
  },
  { id: 'name', head: 'Alarm', cell: ({ name }) => name.replaceAll('_', ' ') },
  { id: 'of', head: 'Of', rank: 2, cell: ({ account, destination }) => [account, destination].filter(Boolean).join(' · ') || '–' },
  {
    id: 'text',
    head: 'What happened',
    isWide: true,
    rank: 2,
    cell: ({ text }) => (
      <span title={text}>
        <Sentence text={text} />
      </span>
    ),
  },
  { id: 'since', head: 'Since', isNumber: true, cell: ({ since }) => <Age at={since} /> },
  { id: 'over', head: 'Over', isNumber: true, rank: 3, cell: ({ resolved_at }) => <Age at={resolved_at} /> },
]
