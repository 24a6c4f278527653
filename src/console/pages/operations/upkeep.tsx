import { useState } from 'react'
import { useAction } from '../../api/action.ts'
import { api, type Schemas, unwrap } from '../../api/client.ts'
import { usePendingAction } from '../../layout/pending-action.ts'
import { ActionButton } from '../../parts/button.tsx'
import { Chip } from '../../parts/chip.tsx'
import { Confirm } from '../../parts/confirm.tsx'
import { Section } from '../../parts/fields.tsx'
import { count, counted, size } from '../../parts/numbers.ts'
import { Sentence } from '../../parts/sentence.tsx'

type Finding = Schemas['Finding']

export function Upkeep() {
  const [findings, setFindings] = useState<readonly Finding[] | null>(null)
  const [isConfirming, setConfirming] = useState(false)
  const doctor = useAction({
    run: () => unwrap(api.POST('/api/v1/doctor', { body: {} })),
    done: ({ items }) => {
      setFindings(items)
      const wrong = items.filter(({ fails }) => fails).length
      const unchecked = items.filter(({ ok }) => ok === null).length
      const parts = [wrong > 0 && `${count(wrong)} failed`, unchecked > 0 && `${count(unchecked)} not checked`].filter(Boolean)
      return `${counted(items.length, 'check')}: ${parts.join(', ') || 'all passed'}.`
    },
  })
  const backup = useAction({
    run: (file: string) => unwrap(api.POST('/api/v1/backup', { body: { file } })),
    done: ({ path, bytes }) => `Backup ${path} (${size(bytes)}) was made and verified.`,
  })
  const reload = useAction({ run: () => unwrap(api.POST('/api/v1/reload')), done: reloadText })
  usePendingAction('doctor', () => doctor.mutate())
  usePendingAction('backup', () => setConfirming(true))
  return (
    <Section id="upkeep" title="Maintenance">
      <div className="actions">
        <ActionButton requires="admin" action={doctor}>
          Run doctor
        </ActionButton>
        <ActionButton requires="admin" action={{ ...backup, mutate: () => setConfirming(true) }}>
          Back up…
        </ActionButton>
        <ActionButton requires="admin" action={reload}>
          Reload settings
        </ActionButton>
      </div>
      {isConfirming && (
        <Confirm
          title="Back up the database?"
          text="Copies the database into the same folder and verifies the copy. A large database takes longer. All processes keep running."
          confirmLabel="Back up"
          onDo={() => backup.mutate(nameNow())}
          onClose={() => setConfirming(false)}
        />
      )}
      {findings && (
        <ul className="lines">
          {findings.map(({ about, ok, text }) => (
            <li key={`${about} ${text}`}>
              <span>
                <strong>{about}</strong> <Sentence text={text} />
              </span>
              <Chip word={ok === null ? 'unchecked' : ok ? 'ok' : 'wrong'} label={ok === null ? 'not checked' : ok ? 'OK' : 'failed'} />
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

function reloadText({ applied, needs_restart, from_environment }: Schemas['Reloaded']): string {
  const parts = [applied.length === 0 ? 'No setting changed that applies without a restart.' : `Applied: ${applied.join('; ')}.`]
  if (needs_restart.length > 0) parts.push(`Restart to apply: ${needs_restart.join(', ')}.`)
  if (from_environment.length > 0) parts.push(`Reload doesn't re-read environment variables (.env). After changing one, restart.`)
  return parts.join(' ')
}
