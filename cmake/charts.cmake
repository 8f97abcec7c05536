# The page of reports with Chart.js inside, as the file HUDDLE_REPORT_PAGE. Optional: all else is built without it.
# It must be version 3, which Debian has as libjs-chart.js; elsewhere, -DHUDDLE_CHART_JS=/path/to/chart.min.js.

find_file(HUDDLE_CHART_JS chart.min.js
  PATHS /usr/share/javascript/chart.js /usr/share/nodejs/chart.js/dist
  DOC "Chart.js as one file; without it reports cannot be made")
if(HUDDLE_CHART_JS AND HUDDLE_PYTHON)
  set(HUDDLE_REPORT_PAGE ${PROJECT_BINARY_DIR}/report_page.html)
  set(page ${PROJECT_SOURCE_DIR}/huddle/report/page)
  execute_process(COMMAND ${HUDDLE_PYTHON} ${page}/assemble.py ${HUDDLE_CHART_JS} ${HUDDLE_REPORT_PAGE}
                  RESULT_VARIABLE status ERROR_VARIABLE reason)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "the page of reports could not be put together: ${reason}")
  endif()
  foreach(name assemble.py report.html report.css words.js answer.js charts.js layout.js groups.js
          sections.js figures.js report.js)
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${page}/${name})
  endforeach()
else()
  list(APPEND left_out "reports (Chart.js, libjs-chart.js, or a Python is missing)")
endif()
