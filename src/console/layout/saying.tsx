import { X } from 'lucide-react'
import { useEffect } from 'react'
import { silence, useSaid } from '../api/announce.ts'

const SHOWN_MS = 12_000

/**
 * Says what came of an action, to the eye and to a screen reader. It is always there, or nothing would be read out. It stands in the top bar,
 * where it covers nothing.
 */
export function Saying() {
  const said = useSaid()
  useEffect(() => {
    if (said === null || said.isRefusal) return
    const timer = setTimeout(silence, SHOWN_MS)
    return () => clearTimeout(timer)
  }, [said])
  return (
    <div className={`saying${said === null ? '' : said.isRefusal ? ' shown refusal' : ' shown'}`}>
      <div role="status">{said && <span key={said.turn}>{said.text}</span>}</div>
      {said && (
        <button type="button" className="plain" aria-label="Close the message" onClick={silence}>
          <X aria-hidden="true" />
        </button>
      )}
    </div>
  )
}
