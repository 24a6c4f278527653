import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Schemas } from '../../api/client.ts'
import { searchQuery } from '../../api/queries.ts'
import { shortId } from '../../parts/id.tsx'
import { SearchField } from '../../parts/search-field.tsx'

type Found = Schemas['Found']

interface SubmissionChoiceProps {
  /** By which a form reads the id of the chosen submission, or what is typed: that must be no less than an id, so it is not passed over. */
  readonly name: string
  readonly onChange: () => void
}

const MOST_SHOWN = 6

/** A field of a form in which a submission is found by the name of its insured, or by its id. */
export function SubmissionChoice({ name, onChange }: SubmissionChoiceProps) {
  const [text, setText] = useState('')
  const [chosen, setChosen] = useState<Found | null>(null)
  const choose = (next: Found | null) => {
    setChosen(next)
    setText('')
    onChange()
  }
  if (chosen !== null) {
    return (
      <div className="chosen">
        <input type="hidden" name={name} value={chosen.id} />
        <bdi title={chosen.id}>{chosen.title || shortId(chosen.id)}</bdi>
        <button type="button" className="button small" onClick={() => choose(null)}>
          Any submission
        </button>
      </div>
    )
  }
  return (
    <>
      <SearchField name={name} label="Submission" placeholder="Any; search by insured or id" value={text} onChange={setText} />
      {text !== '' && <Suggestions text={text} onChoose={choose} />}
    </>
  )
}

function Suggestions({ text, onChoose }: { readonly text: string; readonly onChoose: (found: Found) => void }) {
  const { data } = useQuery(searchQuery(text))
  if (data === undefined) return null
  const found = data.items.filter(({ kind }) => kind === 'submission').slice(0, MOST_SHOWN)
  if (found.length === 0) return <p className="quiet">No submission fits this search.</p>
  return (
    <ul className="suggestions" aria-label="Submissions found">
      {found.map((one) => (
        <li key={`${one.account}/${one.id}`}>
          <button type="button" className="plain" title={one.id} onClick={() => onChoose(one)}>
            <bdi>{one.title || shortId(one.id)}</bdi> <span className="quiet">{one.title ? shortId(one.id) : one.account}</span>
          </button>
        </li>
      ))}
    </ul>
  )
}
