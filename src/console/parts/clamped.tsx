import { type ReactNode, useLayoutEffect, useRef, useState } from 'react'

/** A text of which two lines are shown, until somebody wants the rest. */
export function Clamped({ children }: { readonly children: ReactNode }) {
  const text = useRef<HTMLParagraphElement>(null)
  const [isWhole, setWhole] = useState(false)
  const [isCut, setCut] = useState(false)
  // It is looked at anew when it grows: what was masked may be shown.
  useLayoutEffect(() => {
    const element = text.current
    if (!element || isWhole) return
    const observer = new ResizeObserver(() => setCut(element.scrollHeight > element.clientHeight + 1))
    observer.observe(element)
    return () => observer.disconnect()
  }, [isWhole])
  return (
    <>
      <p ref={text} className={isWhole ? 'entry-text whole' : 'entry-text'}>
        {children}
      </p>
      {(isCut || isWhole) && (
        <button type="button" className="plain show" aria-expanded={isWhole} onClick={() => setWhole(!isWhole)}>
          {isWhole ? 'Less' : 'More'}
        </button>
      )}
    </>
  )
}
