import { useQuery } from '@tanstack/react-query'
import { useState } from 'react'
import type { Schemas } from '../../api/client.ts'
import { searchQuery } from '../../api/queries.ts'
import { Button } from '../../parts/button.tsx'
import { shortId } from '../../parts/id.tsx'
import { SearchField } from '../../parts/search-field.tsx'

type Found = Schemas['Found']

interface SubmissionChoiceProps {
  /**
   * Name of the form field. The field's value is the id of the chosen submission. If the user chose none, the value is
   * the typed text, which the server rejects if it isn't an id.
   */
  readonly name: string
  readonly onChange: () => void
}

const MAX_SHOWN = 6

/** Field in which the user finds a submission by its insured or its id. */
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
      <div className="line">
        <input type="hidden" name={name} value={chosen.id} />
        <bdi title={chosen.id}>{chosen.title || shortId(chosen.id)}</bdi>
        <Button isSmall onClick={() => choose(null)}>
          Any submission
        </Button>
      </div>
    )
  }
  return (
    <>
      <SearchField name={name} label="Submission" placeholder="Any. Search by insured or id" value={text} onChange={setText} />
      {text !== '' && <Suggestions text={text} onChoose={choose} />}
    </>
  )
}

function Suggestions({ text, onChoose }: { readonly text: string; readonly onChoose: (found: Found) => void }) {
  const { data } = useQuery(searchQuery(text))
  if (data === undefined) return null
  const found = data.items.filter(({ kind }) => kind === 'submission').slice(0, MAX_SHOWN)
  if (found.length === 0) return <p className="quiet">No submissions found.</p>
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
