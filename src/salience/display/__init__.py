"""Display: results as plain JSON, as one line in a console, as HTML and as a table of pandas.

result      the base of everything that methods return: `to_dict` and a short `repr`
html        sections, tables and bars, as a page of their own or inside that of a notebook
frames      a pandas DataFrame of hits or records
for_models  memories as a model reads them: cleaned, fenced, with their provenance
"""
