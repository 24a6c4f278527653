import { useState } from 'react'
import { useAction } from '../../api/action.ts'
import { answered, api, type Schemas } from '../../api/client.ts'
import { usePendingAction } from '../../layout/pending-action.ts'
import { Button } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Section } from '../../parts/fields.tsx'
import { counted, size } from '../../parts/numbers.ts'
import { Sentence } from '../../parts/sentence.tsx'

type Looked = Schemas['Finding']

/** Doctor, backup, and reading the settings again. */
export function Upkeep() {
  const [found, setFound] = useState<readonly Looked[] | null>(null)
  const [asks, setAsks] = useState(false)
  const doctor = useAction({
    run: () => answered(api.POST('/api/v1/doctor', { body: {} })),
    done: ({ items }) => {
      setFound(items)
      const wrong = items.filter(({ fails }) => fails).length
      const unchecked = items.filter(({ ok }) => ok === null).length
      const rest = unchecked === 0 ? '' : ` ${counted(unchecked, 'thing')} not checked.`
      return wrong === 0
        ? `${counted(items.length, 'thing')} looked at; nothing is wrong.${rest}`
        : `${counted(wrong, 'check')} of ${items.length} ${wrong === 1 ? 'needs' : 'need'} a look.${rest}`
    },
  })
  const backup = useAction({
    run: (file: string) => answered(api.POST('/api/v1/backup', { body: { file } })),
    done: ({ path, bytes }) => `${path}: ${size(bytes)}, verified.`,
  })
  const reload = useAction({ run: () => answered(api.POST('/api/v1/reload')), done: reloadText })
  usePendingAction('doctor', () => doctor.mutate())
  usePendingAction('backup', () => setAsks(true))
  return (
    <Section id="upkeep" title="Upkeep">
      <div className="actions">
        <Button needs="admin" isSmall isBusy={doctor.isPending} onClick={() => doctor.mutate()}>
          Run the doctor
        </Button>
        <Button needs="admin" isSmall isBusy={backup.isPending} onClick={() => setAsks(true)}>
          Make a backup
        </Button>
        <Button needs="admin" isSmall isBusy={reload.isPending} onClick={() => reload.mutate()}>
          Reload the settings
        </Button>
      </div>
      {asks && (
        <Confirm title="Make a backup?" deed="Make a backup" onDo={() => backup.mutate(nameNow())} onClose={() => setAsks(false)}>
          A copy of the database is made beside it while it is worked on, and verified. It takes as long as the file is large.
        </Confirm>
      )}
      {found && (
        <ul className="lines">
          {found.map(({ about, ok, text }) => (
            <li key={`${about} ${text}`}>
              <span>
                <strong>{about}</strong> <Sentence text={text} />
              </span>
              <Chip word={ok === null ? 'unchecked' : ok ? 'ok' : 'wrong'} label={ok === null ? 'not checked' : ok ? 'OK' : 'wrong'} />
            </li>
          ))}
        </ul>
      )}
    </Section>
  )
}

function nameNow(): string {
  return `backup-${new Date().toISOString().slice(0, 19).replaceAll(':', '-')}.db`
}

/** The result of a reload: what applied, what needs a restart, and what a reload cannot see. */
function reloadText({ applied, needs_restart, from_environment }: Schemas['Reloaded']): string {
  const parts = [applied.length === 0 ? 'No setting changed that applies without a restart.' : `Applied: ${applied.join('; ')}.`]
  if (needs_restart.length > 0) parts.push(`Restart to apply: ${needs_restart.join(', ')}.`)
  if (from_environment.length > 0)
    parts.push(`${counted(from_environment.length, 'variable')} of the environment (.env) were not re-read: after changing one, restart.`)
  return parts.join(' ')
}
